-- Only days of which there are runs: one clock that stood in the year 2000 does not make us go through all hours since.
create view hours as
with recursive known (day) as (
    select min(d.day) from public.pipeline_days d
    union all
    select (select min(d.day) from public.pipeline_days d where d.day > k.day) from known k where k.day is not null)
select (n.day::timestamp + h.hours * interval '1 hour') at time zone 'UTC' as hour
from (select k.day from known k where k.day is not null union select s.day from public.stale_days s) n
cross join generate_series(0, 23) h (hours);

comment on view hours is 'One row per hour (UTC) of each day in which runs started';

-- From hour to hour, so that the index of the starts serves a filter by time.
create or replace view reporting.hourly as
select h.hour, a.pipeline, p.type as pipeline_type, p.owner, a.runs, a.succeeded, a.failed, a.aborted, a.unknown, a.running,
    a.error_share, a.inserts, a.updates, a.deletes, a.total_rows, a.duration_seconds, a.avg_duration_seconds,
    a.median_duration_seconds, a.p95_duration_seconds, a.throughput, a.anomalous, a.overdue, a.backfills, a.retried
from public.hours h cross join lateral (
    select r.pipeline, count(*) as runs,
        count(*) filter (where r.status = 'succeeded') as succeeded,
        count(*) filter (where r.status = 'failed') as failed,
        count(*) filter (where r.status = 'aborted') as aborted,
        count(*) filter (where r.status = 'unknown') as unknown,
        count(*) filter (where r.status in ('running', 'lost')) as running,
        count(*) filter (where r.status in ('failed', 'aborted'))::numeric
            / nullif(count(*) filter (where r.status not in ('running', 'lost')), 0) as error_share,
        coalesce(sum(r.inserts), 0) as inserts, coalesce(sum(r.updates), 0) as updates,
        coalesce(sum(r.deletes), 0) as deletes, coalesce(sum(r.total_rows), 0) as total_rows,
        coalesce(sum(r.duration_seconds), 0) as duration_seconds,
        avg(r.duration_seconds) filter (where r.ended_at is not null) as avg_duration_seconds,
        (percentile_cont(0.5) within group (order by r.duration_seconds)
            filter (where r.ended_at is not null))::numeric as median_duration_seconds,
        (percentile_cont(0.95) within group (order by r.duration_seconds)
            filter (where r.ended_at is not null))::numeric as p95_duration_seconds,
        sum(r.total_rows) filter (where r.duration_seconds is not null)
            / nullif(sum(r.duration_seconds) filter (where r.total_rows is not null), 0) as throughput,
        count(*) filter (where r.anomalous) as anomalous, count(*) filter (where r.overdue) as overdue,
        count(*) filter (where r.backfill) as backfills, count(*) filter (where r.attempt > 1) as retried
    from (
        select * from public.runs s where s.started_at >= h.hour and s.started_at < h.hour + interval '1 hour'
        union all
        select * from public.runs e
        where e.started_at is null and e.ended_at >= h.hour and e.ended_at < h.hour + interval '1 hour') r
    group by r.pipeline) a
left join public.pipelines p on p.pipeline = a.pipeline
