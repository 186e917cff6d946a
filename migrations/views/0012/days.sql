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
where d.runs > 0;

create or replace view reporting.week_over_week as
select w.week, w.pipeline, p.type as pipeline_type, p.owner, w.runs, w.previous_runs, w.failed, w.previous_failed,
    w.failed::numeric / nullif(w.ended, 0) as error_share,
    w.previous_failed::numeric / nullif(w.previous_ended, 0) as previous_error_share,
    w.avg_duration_seconds, w.previous_avg_duration_seconds,
    (w.avg_duration_seconds - w.previous_avg_duration_seconds)
        / nullif(w.previous_avg_duration_seconds, 0) as duration_change_share,
    w.changed_rows, w.previous_changed_rows,
    (w.changed_rows - w.previous_changed_rows) / nullif(w.previous_changed_rows, 0) as changed_rows_change_share
from (
    select s.week, s.pipeline,
        coalesce(sum(s.runs) filter (where s.this), 0) as runs,
        coalesce(sum(s.runs) filter (where not s.this), 0) as previous_runs,
        coalesce(sum(s.failed) filter (where s.this), 0) as failed,
        coalesce(sum(s.failed) filter (where not s.this), 0) as previous_failed,
        sum(s.ended) filter (where s.this) as ended,
        sum(s.ended) filter (where not s.this) as previous_ended,
        sum(s.timed_seconds) filter (where s.this)
            / nullif(sum(s.timed_runs) filter (where s.this), 0) as avg_duration_seconds,
        sum(s.timed_seconds) filter (where not s.this)
            / nullif(sum(s.timed_runs) filter (where not s.this), 0) as previous_avg_duration_seconds,
        coalesce(sum(s.changed) filter (where s.this), 0) as changed_rows,
        coalesce(sum(s.changed) filter (where not s.this), 0) as previous_changed_rows
    from (
        select date_trunc('week', d.day::timestamp)::date as week, true as this, d.pipeline, d.runs,
            d.failed + d.aborted as failed, d.runs - d.running as ended, d.timed_runs, d.timed_seconds,
            d.inserts + d.updates + d.deletes as changed
        from public.current_days d where d.runs > 0
        union all
        select date_trunc('week', d.day::timestamp)::date + 7, false, d.pipeline, d.runs,
            d.failed + d.aborted, d.runs - d.running, d.timed_runs, d.timed_seconds,
            d.inserts + d.updates + d.deletes
        from public.current_days d
        where d.runs > 0
            and date_trunc('week', d.day::timestamp)::date + 7 <= (now() at time zone 'UTC')::date) s
    group by s.week, s.pipeline) w
left join public.pipelines p using (pipeline)
