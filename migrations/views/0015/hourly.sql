-- Walked along the index of hours, newest first: a page stops after its rows, and a filter by hour is one of the index.
-- For that the first leg has no condition of its own, which would make it a query that hides its order; runs without a
-- start have no hour there. Owner and type come after the counting. Most hours have one run of a pipeline, which is its
-- own percentile: to sort each of them would take half of the time.
create or replace view reporting.hourly as
select a.hour, a.pipeline, p.type as pipeline_type, p.owner, a.runs, a.succeeded, a.failed, a.aborted, a.unknown,
    a.running, a.error_share, a.inserts, a.updates, a.deletes, a.total_rows, a.duration_seconds, a.avg_duration_seconds,
    (case when cardinality(a.durations) = 1 then a.durations[1] else (
        select percentile_cont(0.5) within group (order by d.seconds)
        from unnest(a.durations) d (seconds)) end)::numeric as median_duration_seconds,
    (case when cardinality(a.durations) = 1 then a.durations[1] else (
        select percentile_cont(0.95) within group (order by d.seconds)
        from unnest(a.durations) d (seconds)) end)::numeric as p95_duration_seconds,
    a.throughput, a.anomalous, a.overdue, a.backfills, a.retried
from (
    select r.hour, r.pipeline, count(*) as runs,
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
        array_agg(r.duration_seconds::double precision)
            filter (where r.ended_at is not null and r.duration_seconds is not null) as durations,
        sum(r.total_rows) filter (where r.duration_seconds is not null)
            / nullif(sum(r.duration_seconds) filter (where r.total_rows is not null), 0) as throughput,
        count(*) filter (where r.anomalous) as anomalous, count(*) filter (where r.overdue) as overdue,
        count(*) filter (where r.backfill) as backfills, count(*) filter (where r.attempt > 1) as retried
    from (
        select date_trunc('hour', s.started_at at time zone 'UTC') at time zone 'UTC' as hour, s.*
        from public.runs s
        union all
        select date_trunc('hour', e.ended_at at time zone 'UTC') at time zone 'UTC', e.*
        from public.runs e where e.started_at is null and e.ended_at is not null) r
    where r.hour is not null
    group by r.hour, r.pipeline order by r.hour desc, r.pipeline desc) a
left join public.pipelines p on p.pipeline = a.pipeline
