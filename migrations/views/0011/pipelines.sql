-- A text that is no time has none: a view must not fail over one odd watermark.
create function reporting.time_of(stamp text) returns timestamptz
language plpgsql stable strict set timezone = 'UTC' as $$
begin
    return case when stamp ~ '^\d{4}-?\d{2}-?\d{2}' then stamp::timestamptz end;
exception when data_exception then
    return null;
end $$;

comment on function reporting.time_of is 'The time that an ISO 8601 text names, without a zone in UTC; null when it names none';

create index incidents_open on incidents (pipeline) where status = 'open';

-- Nothing here reads all runs of a pipeline. One whose start was never heard of has no place among the last, so of
-- those, which are few, the newest end is taken.
create or replace view reporting.pipelines as
select p.pipeline, p.type, p.owner, p.active, p.declaration is not null as declared, p.tags,
    last.run_id as last_run_id, last.status as last_status, last.started_at as last_started_at,
    greatest(
        (select s.ended_at from public.runs s
            where s.pipeline = p.pipeline and s.status = 'succeeded' and s.started_at is not null
            order by s.started_at desc limit 1),
        (select max(s.ended_at) from public.runs s
            where s.pipeline = p.pipeline and s.status = 'succeeded' and s.started_at is null)) as last_success_at,
    w.effective as last_watermark, w.effective_at as last_watermark_at,
    (select count(*) from public.incidents i
        where i.pipeline = p.pipeline and i.status = 'open') as open_incidents,
    coalesce(p.freshness_seconds, t.freshness_seconds) as freshness_seconds,
    coalesce(p.timeliness_seconds, t.timeliness_seconds) as timeliness_seconds, p.first_seen_at,
    p.last_change_at,
    case
        when p.stale = 'fail' then 'stale'
        when p.stale = 'warn' then 'aging'
        when coalesce(p.freshness_seconds, t.freshness_seconds) is null
            and coalesce(p.declaration -> 'freshness', 'null') = 'null' then null
        when p.last_change_at is null then 'unknown'
        else 'fresh'
    end as freshness,
    extract(epoch from now() - p.last_change_at) as data_age_seconds,
    -- A time ahead of its sending by more than clocks differ counts as that of its sending, as the streams reckon.
    case when w.kind = 'timestamp' then extract(epoch from now() - case
        when reporting.time_of(w.effective) > w.effective_at + interval '5 minutes' then w.effective_at
        else reporting.time_of(w.effective) end) end as watermark_lag_seconds,
    p.schedule_cron, p.schedule_timezone,
    -- The next slot is the newest one, or stands below what a change of the schedule has excused. Asked for what is due
    -- after now, the planner takes an index of all pipelines' slots.
    (select min(e.due_at) from (
            select n.due_at, n.state from public.expected_runs n
            where n.pipeline = p.pipeline order by n.due_at desc limit 10) e
        where e.due_at > now() and e.state = 'expected') as next_due_at,
    (select count(*) from public.incidents i
        where i.pipeline = p.pipeline and i.status = 'open' and i.severity = 'fail') as open_fail_incidents
from (
    select d.*,
        (select i.severity from public.incidents i
            where i.pipeline = d.pipeline and i.kind = 'freshness' and i.status = 'open'
            order by i.severity limit 1) as stale,
        greatest(
            (select c.ended_at from public.runs c
                where c.pipeline = d.pipeline and c.started_at is not null and c.ended_at is not null
                    and not coalesce(c.backfill, false) and (c.inserts > 0 or c.updates > 0 or c.deletes > 0)
                order by c.started_at desc limit 1),
            (select max(c.ended_at) from public.runs c
                where c.pipeline = d.pipeline and c.started_at is null and not coalesce(c.backfill, false)
                    and (c.inserts > 0 or c.updates > 0 or c.deletes > 0))) as last_change_at
    from public.pipelines d) p
left join public.pipeline_types t on t.type = p.type
left join public.watermarks w on w.pipeline = p.pipeline and w.dataset = ''
left join lateral (
    select r.run_id, r.status, r.started_at from public.runs r
    where r.pipeline = p.pipeline and r.started_at is not null order by r.started_at desc
    limit 1) last on true;

comment on column reporting.pipelines.last_success_at is 'When the run ended that started last of those that succeeded, UTC';
comment on column reporting.pipelines.data_age_seconds is 'Seconds since last_change_at; null when nothing was ever loaded';
comment on column reporting.pipelines.watermark_lag_seconds is
    'How far last_watermark is behind now, in seconds; null when it is no time (of kind timestamp)';
comment on column reporting.pipelines.schedule_cron is 'When runs are expected, as a cron line; null without a schedule';
comment on column reporting.pipelines.schedule_timezone is 'Zone of the schedule';
comment on column reporting.pipelines.next_due_at is 'The next expected start, UTC; null when none is known';
comment on column reporting.pipelines.open_fail_incidents is 'How many of the open incidents are of severity fail'
