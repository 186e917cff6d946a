-- Made twice: by day and by hour. Runs of which neither start nor end is known belong to no time.
create view reporting.{view} as
select {period} as {column},
    r.pipeline, p.type as pipeline_type, p.owner, count(*) as runs,
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
from public.runs r left join public.pipelines p using (pipeline)
where r.started_at is not null or r.ended_at is not null
group by 1, r.pipeline, p.type, p.owner;

comment on view reporting.{view} is 'One row per pipeline and {column} (UTC) in which runs started, the present one included';
comment on column reporting.{view}.{column} is 'The {column} (UTC) in which the runs started, or ended when no start is known';
comment on column reporting.{view}.pipeline is 'Name of the pipeline';
comment on column reporting.{view}.pipeline_type is 'Type of the pipeline as last declared';
comment on column reporting.{view}.owner is 'Owner of the pipeline as last declared';
comment on column reporting.{view}.runs is 'How many runs started';
comment on column reporting.{view}.succeeded is 'How many of them succeeded';
comment on column reporting.{view}.failed is 'How many of them failed';
comment on column reporting.{view}.aborted is 'How many of them were aborted';
comment on column reporting.{view}.unknown is 'How many of them ended without a usable status';
comment on column reporting.{view}.running is 'How many of them have not ended: running or lost';
comment on column reporting.{view}.error_share is
    'Failed and aborted runs of those that ended, 0 to 1; null when none has ended';
comment on column reporting.{view}.inserts is 'Rows inserted by all of them';
comment on column reporting.{view}.updates is 'Rows updated by all of them';
comment on column reporting.{view}.deletes is 'Rows deleted by all of them';
comment on column reporting.{view}.total_rows is 'Sum of their total_rows';
comment on column reporting.{view}.duration_seconds is 'How long they took together, in seconds';
comment on column reporting.{view}.avg_duration_seconds is 'Average duration of those that ended, in seconds';
comment on column reporting.{view}.median_duration_seconds is 'Median duration of those that ended, in seconds';
comment on column reporting.{view}.p95_duration_seconds is
    'The duration that 95 of 100 of those that ended did not exceed (interpolated), in seconds';
comment on column reporting.{view}.throughput is
    'Rows per second: total_rows by duration, over the runs that have both';
comment on column reporting.{view}.anomalous is 'How many of them had a metric outside its expected range';
comment on column reporting.{view}.overdue is 'How many of them took longer than their timeliness limit';
comment on column reporting.{view}.backfills is 'How many of them loaded the past';
comment on column reporting.{view}.retried is 'How many of them needed more than one try'
