-- Oldest days first: what is still written to, mostly the newest day, is marked again soon.
create function fold_days(cells integer) returns integer
language plpgsql as $$
declare
    folded integer;
begin
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
    select count(*) into folded from c;
    return folded;
end $$;

comment on function fold_days is
    'Computes up to so many marked cells of pipeline_days anew, takes their marks away and says how many that were'
