create table pipeline_days (
    day date not null,
    pipeline text not null,
    runs integer not null,
    succeeded integer not null,
    failed integer not null,
    aborted integer not null,
    unknown integer not null,
    running integer not null,
    inserts numeric not null,
    updates numeric not null,
    deletes numeric not null,
    total_rows numeric not null,
    duration_seconds numeric not null,
    timed_runs integer not null,
    timed_seconds numeric,
    median_duration_seconds numeric,
    p95_duration_seconds numeric,
    counted_rows numeric,
    counted_seconds numeric,
    anomalous integer not null,
    overdue integer not null,
    backfills integer not null,
    retried integer not null,
    met integer not null,
    late integer not null,
    missed integer not null,
    excused integer not null,
    unseen integer not null,
    primary key (pipeline, day)
) with (fillfactor = 80);

create index pipeline_days_day on pipeline_days (day);

-- As the view groups: a filter by month finds its days.
create index pipeline_days_month on pipeline_days ((date_trunc('month', day::timestamp)::date));

create table pipeline_weeks (
    week date not null,
    pipeline text not null,
    runs bigint not null,
    failed bigint not null,
    ended bigint not null,
    timed_runs bigint not null,
    timed_seconds numeric,
    changed_rows numeric not null,
    primary key (pipeline, week)
) with (fillfactor = 80);

create index pipeline_weeks_week on pipeline_weeks (week);

-- Each week is also the one before of the next.
create index pipeline_weeks_next on pipeline_weeks ((week + 7));

create table stale_days (
    day date not null,
    pipeline text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

create index stale_days_day_pipeline on stale_days (day, pipeline)
