create view current_weeks as
select w.week, w.pipeline, w.runs, w.failed, w.ended, w.timed_runs, w.timed_seconds, w.changed_rows
from public.pipeline_weeks w
where not exists (
    select from public.stale_days s where s.pipeline = w.pipeline and s.day >= w.week and s.day < w.week + 7)
union all
select c.week, c.pipeline, sums.*
from (select distinct date_trunc('week', s.day::timestamp)::date as week, s.pipeline from public.stale_days s) c
cross join lateral (
    select {week} from public.current_days d
    where d.pipeline = c.pipeline and d.day >= c.week and d.day < c.week + 7) sums
where sums.runs > 0;

comment on view current_weeks is 'One row per pipeline and week (UTC) with runs, whether it is stored or has to be computed';

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
        coalesce(max(s.runs) filter (where s.this), 0) as runs,
        coalesce(max(s.runs) filter (where not s.this), 0) as previous_runs,
        coalesce(max(s.failed) filter (where s.this), 0) as failed,
        coalesce(max(s.failed) filter (where not s.this), 0) as previous_failed,
        max(s.ended) filter (where s.this) as ended,
        max(s.ended) filter (where not s.this) as previous_ended,
        max(s.average) filter (where s.this) as avg_duration_seconds,
        max(s.average) filter (where not s.this) as previous_avg_duration_seconds,
        coalesce(max(s.changed) filter (where s.this), 0) as changed_rows,
        coalesce(max(s.changed) filter (where not s.this), 0) as previous_changed_rows
    from (
        select w.week, w.pipeline, true as this, w.runs, w.failed, w.ended, w.changed_rows as changed,
            w.timed_seconds / nullif(w.timed_runs, 0) as average
        from public.current_weeks w
        union all
        select w.week + 7, w.pipeline, false, w.runs, w.failed, w.ended, w.changed_rows,
            w.timed_seconds / nullif(w.timed_runs, 0)
        from public.current_weeks w where w.week + 7 <= (now() at time zone 'UTC')::date) s
    group by s.week, s.pipeline) w
left join public.pipelines p using (pipeline)
