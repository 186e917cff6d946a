-- What is stored where nothing was written since, else computed on the spot: exact in every snapshot.
create view current_days as
select {stored}
from public.pipeline_days d
where not exists (select from public.stale_days s where s.day = d.day and s.pipeline = d.pipeline)
union all
select c.day, c.pipeline, runs.*, slots.*
from (select distinct s.day, s.pipeline from public.stale_days s) c cross join lateral (
{cell};

comment on view current_days is 'One row per pipeline and day (UTC), whether it is stored or has to be computed';

create or replace view reporting.daily as
select d.day, d.pipeline, p.type as pipeline_type, p.owner, d.runs::bigint as runs, d.succeeded::bigint as succeeded,
    d.failed::bigint as failed, d.aborted::bigint as aborted, d.unknown::bigint as unknown,
    d.running::bigint as running,
    (d.failed + d.aborted)::numeric / nullif(d.runs - d.running, 0)::bigint as error_share,
    d.inserts, d.updates, d.deletes, d.total_rows, d.duration_seconds,
    d.timed_seconds / nullif(d.timed_runs, 0) as avg_duration_seconds, d.median_duration_seconds,
    d.p95_duration_seconds, d.counted_rows / nullif(d.counted_seconds, 0) as throughput,
    d.anomalous::bigint as anomalous, d.overdue::bigint as overdue, d.backfills::bigint as backfills,
    d.retried::bigint as retried
from public.current_days d left join public.pipelines p using (pipeline)
where d.runs > 0
