-- Each week counts twice: as itself, and as the one before of the next. So a pipeline that has stopped has a row too.
create view reporting.week_over_week as
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
        select date_trunc('week', coalesce(r.started_at, r.ended_at) at time zone 'UTC')::date + n.days as week,
            r.pipeline, n.days = 0 as this, count(*) as runs,
            count(*) filter (where r.status in ('failed', 'aborted')) as failed,
            count(*) filter (where r.status not in ('running', 'lost')) as ended,
            avg(r.duration_seconds) filter (where r.ended_at is not null) as average,
            coalesce(sum(r.inserts), 0) + coalesce(sum(r.updates), 0) + coalesce(sum(r.deletes), 0) as changed
        from public.runs r cross join (values (0), (7)) n (days)
        where r.started_at is not null or r.ended_at is not null
        group by 1, 2, 3) s
    where s.this or s.week <= (now() at time zone 'UTC')::date
    group by s.week, s.pipeline) w
left join public.pipelines p using (pipeline);

comment on view reporting.week_over_week is
    'One row per pipeline and week (UTC, from Monday) beside the week before, the present one included; also for a '
    'week without runs after one with some';
comment on column reporting.week_over_week.week is 'The Monday with which the week begins';
comment on column reporting.week_over_week.pipeline is 'Name of the pipeline';
comment on column reporting.week_over_week.pipeline_type is 'Type of the pipeline as last declared';
comment on column reporting.week_over_week.owner is 'Owner of the pipeline as last declared';
comment on column reporting.week_over_week.runs is 'How many runs started in the week';
comment on column reporting.week_over_week.previous_runs is 'The same in the week before';
comment on column reporting.week_over_week.failed is 'How many of them failed or were aborted';
comment on column reporting.week_over_week.previous_failed is 'The same in the week before';
comment on column reporting.week_over_week.error_share is
    'Failed and aborted runs of those that ended, 0 to 1; null when none has ended';
comment on column reporting.week_over_week.previous_error_share is 'The same in the week before';
comment on column reporting.week_over_week.avg_duration_seconds is 'Average duration of those that ended, in seconds';
comment on column reporting.week_over_week.previous_avg_duration_seconds is 'The same in the week before';
comment on column reporting.week_over_week.duration_change_share is
    'By how much of it the average duration changed: 0.5 is half as long again, -0.5 half; null when there is none to compare';
comment on column reporting.week_over_week.changed_rows is 'Rows inserted, updated and deleted';
comment on column reporting.week_over_week.previous_changed_rows is 'The same in the week before';
comment on column reporting.week_over_week.changed_rows_change_share is
    'By how much of them changed_rows changed; null when there were none'
