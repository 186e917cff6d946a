-- Oldest days first: what is still written to, mostly the newest day, is marked again soon.
create function fold_days(cells integer) returns integer
language plpgsql as $$
declare
    days date[];
    pipelines text[];
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'fold_days has to see what was written while it waited: begin the transaction as read committed';
    end if;
    perform set_config('lock_timeout', '2s', true);
    perform pg_advisory_xact_lock({lock});  -- the next statement sees all that was written under it
    with c as materialized (
        select distinct m.day, m.pipeline
        from (select s.day, s.pipeline from stale_days s order by s.day, s.pipeline limit cells) m
    ), unmarked as (
        delete from stale_days s using c where s.day = c.day and s.pipeline = c.pipeline
    ), computed as materialized (
        select c.day, c.pipeline, runs.*, slots.*
        from c cross join lateral (
{cell}
    ), emptied as (
        delete from pipeline_days d using computed c
        where d.pipeline = c.pipeline and d.day = c.day and c.runs + c.met + c.late + c.missed + c.excused + c.unseen = 0
    ), kept as (
        insert into pipeline_days ({columns})
        select {columns} from computed c where c.runs + c.met + c.late + c.missed + c.excused + c.unseen > 0
        order by c.pipeline, c.day
        on conflict (pipeline, day) do update set {changes}
    )
    select array_agg(c.day), array_agg(c.pipeline) into days, pipelines from c;

    with c as materialized (
        select distinct date_trunc('week', f.day::timestamp)::date as week, f.pipeline
        from unnest(days, pipelines) f (day, pipeline)
    ), summed as materialized (
        select c.week, c.pipeline, sums.*
        from c cross join lateral (
            select {week} from pipeline_days d
            where d.pipeline = c.pipeline and d.day >= c.week and d.day < c.week + 7) sums
    ), emptied as (
        delete from pipeline_weeks w using summed s
        where w.pipeline = s.pipeline and w.week = s.week and coalesce(s.runs, 0) = 0
    )
    insert into pipeline_weeks ({week_columns})
    select {week_columns} from summed s where s.runs > 0 order by s.pipeline, s.week
    on conflict (pipeline, week) do update set {week_changes};
    return coalesce(cardinality(days), 0);
end $$;

comment on function fold_days is
    'Computes up to so many marked cells of pipeline_days anew, takes their marks away and says how many that were'
