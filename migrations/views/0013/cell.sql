-- What a cell holds: put into a lateral join with `c`, which has a pipeline and a day.
    select count(*)::integer as runs,
        (count(*) filter (where r.status = 'succeeded'))::integer as succeeded,
        (count(*) filter (where r.status = 'failed'))::integer as failed,
        (count(*) filter (where r.status = 'aborted'))::integer as aborted,
        (count(*) filter (where r.status = 'unknown'))::integer as unknown,
        (count(*) filter (where r.status in ('running', 'lost')))::integer as running,
        coalesce(sum(r.inserts), 0) as inserts, coalesce(sum(r.updates), 0) as updates,
        coalesce(sum(r.deletes), 0) as deletes, coalesce(sum(r.total_rows), 0) as total_rows,
        coalesce(sum(r.duration_seconds), 0) as duration_seconds,
        (count(r.duration_seconds) filter (where r.ended_at is not null))::integer as timed_runs,
        sum(r.duration_seconds) filter (where r.ended_at is not null) as timed_seconds,
        (percentile_cont(0.5) within group (order by r.duration_seconds)
            filter (where r.ended_at is not null))::numeric as median_duration_seconds,
        (percentile_cont(0.95) within group (order by r.duration_seconds)
            filter (where r.ended_at is not null))::numeric as p95_duration_seconds,
        sum(r.total_rows) filter (where r.duration_seconds is not null) as counted_rows,
        sum(r.duration_seconds) filter (where r.total_rows is not null) as counted_seconds,
        (count(*) filter (where r.anomalous))::integer as anomalous,
        (count(*) filter (where r.overdue))::integer as overdue,
        (count(*) filter (where r.backfill))::integer as backfills,
        (count(*) filter (where r.attempt > 1))::integer as retried
    from (
        select * from public.runs s
        where s.pipeline = c.pipeline and s.started_at >= c.day::timestamp at time zone 'UTC'
            and s.started_at < (c.day + 1)::timestamp at time zone 'UTC'
        union all
        select * from public.runs e
        where e.pipeline = c.pipeline and e.started_at is null and e.ended_at >= c.day::timestamp at time zone 'UTC'
            and e.ended_at < (c.day + 1)::timestamp at time zone 'UTC') r) runs
cross join lateral (
    select (count(*) filter (where x.state = 'met'))::integer as met,
        (count(*) filter (where x.state = 'late'))::integer as late,
        (count(*) filter (where x.state = 'missed'))::integer as missed,
        (count(*) filter (where x.state = 'excused'))::integer as excused,
        (count(*) filter (where x.state = 'unknown'))::integer as unseen
    from public.expected_runs x
    where x.pipeline = c.pipeline and x.due_at >= c.day::timestamp at time zone 'UTC'
        and x.due_at < (c.day + 1)::timestamp at time zone 'UTC') slots
