"""SQL that makes runs and what comes with each of them, a chunk at a time, in the order in which they would arrive.

Run `n` starts `n` steps after the beginning. Everything else follows from `n` by a hash, so that rows can be made
inside Postgres, one chunk after the other, and are the same for the same seed.
"""

from __future__ import annotations

from bench.reporting.size import Size
from watchline.consumers.sink.run_statements import COLUMNS

MADE = ", ".join((*COLUMNS, "stored_at"))


def functions(size: Size) -> str:
    """`chance(n, salt)` from 0 to 1, `at(n)`, `run_id(n)`: a UUID of version 7, and `pipelines()`, `until()`."""
    return f"""
create function pg_temp.chance(n bigint, salt bigint) returns float8 language sql immutable
    return (hashint8extended(n, {size.seed} * 1000 + salt) & 9007199254740991)::float8 / 9007199254740992;
create function pg_temp.at(n bigint) returns timestamptz language sql stable
    return timestamptz '{size.since.isoformat()}' + make_interval(secs => n * {size.step_seconds!r});
create function pg_temp.digest(n bigint, what text) returns text language sql stable
    return md5({size.seed} || what || n);
create function pg_temp.run_id(n bigint) returns uuid language sql stable
    return (lpad(to_hex((extract(epoch from pg_temp.at(n)) * 1000)::bigint), 12, '0')
        || '7' || substr(pg_temp.digest(n, 'run'), 1, 3) || '8' || substr(pg_temp.digest(n, 'run'), 4, 15))::uuid;
create function pg_temp.until() returns timestamptz language sql stable
    return timestamptz '{size.until.isoformat()}';
create function pg_temp.pipelines() returns float8 language sql immutable return {size.pipelines}
"""


# What the rows need to know of a pipeline, by its number.
NUMBERED = """
create temporary table numbered as
select number::integer, p.pipeline, p.type, p.owner, p.schedule_cron is not null as scheduled,
    p.freshness_seconds is not null as fresh, p.watermark_kind, p.schedule_timezone as timezone,
    p.schedule_grace_seconds as grace_seconds, 10 * exp(5 * pg_temp.chance(number, 101)) as usual_seconds,
    exp(10 * pg_temp.chance(number, 102)) as usual_rows
from (select row_number() over (order by pipeline) - 1 as number, * from pipelines) p;
create unique index on numbered (number);
analyze numbered;
create temporary table chunk (
    n bigint, number integer, scheduled boolean, fresh boolean, like runs including defaults)
"""

CHUNK = f"""
insert into chunk (n, number, scheduled, fresh, {MADE})
select n, number, scheduled, fresh, pg_temp.run_id(n), pipeline,
    case n % 100 when 1 then pg_temp.run_id(n - 1) when 2 then pg_temp.run_id(n - 2)
        when 3 then pg_temp.run_id(n - 1) when 4 then pg_temp.run_id(n - 1) end,
    case when pg_temp.chance(n, 6) < 0.03 then 2 else 1 end, at, case when scheduled then date_trunc('minute', at) end,
    pg_temp.chance(n, 7) < 0.005, null, (at - interval '1 day')::date::text,
    case when done then at::date::text end, null,
    case when lost then 'lost' when not done then 'running' when luck < 0.02 then 'failed'
        when luck < 0.023 then 'aborted' when luck < 0.024 then 'unknown' else 'succeeded' end,
    null, case when done then pg_temp.digest(n, 'end')::uuid end, case when done then ended end,
    case when done then seconds end, case when done then changed end, case when done then changed * 3 / 10 end,
    case when done then changed / 50 end, case when done then (usual_rows * 400)::bigint + n / 100 end,
    case when done then round(changed / seconds, 3)::float8 end,
    case when number % 5 = 1 and done then jsonb_build_object('null_share', round(luck::numeric, 4)) else '{{}}' end,
    case when done and luck < 0.023 then 'RuntimeError' end,
    case when done and luck < 0.023 then 'the source did not answer: connection to 10.0.0.' || number % 200 end,
    seconds > 3600, done and odd and luck >= 0.024, '{{}}',
    jsonb_build_object('team', owner, 'stage', 'prod'), case when done then '{{"result": "ok"}}'::jsonb end, null, null,
    'etl-' || number % 40 || '.example.org', 2 * n + 2, case when done then ended else at end + interval '1 second'
from (
    select *, at + make_interval(secs => seconds::float8) as ended,
        not lost and at + make_interval(secs => seconds::float8) <= pg_temp.until() as done
    from (
        select n, at, p.*, pg_temp.chance(n, 2) as luck, pg_temp.chance(n, 3) < 0.0003 as lost,
            pg_temp.chance(n, 4) < 0.015 as odd,
            round((p.usual_seconds * (0.8 + 0.4 * pg_temp.chance(n, 5))
                * case when pg_temp.chance(n, 4) < 0.015 then 3 else 1 end)::numeric, 3) as seconds,
            (p.usual_rows * (0.8 + 0.4 * pg_temp.chance(n, 8)))::bigint as changed
        from (
            select n, pg_temp.at(n) as at, floor(pg_temp.pipelines() * pg_temp.chance(n, 1) ^ 2)::integer as number
            from generate_series($1::bigint, $2::bigint - 1) as n) as one
        join numbered p using (number) offset 0) as thrown offset 0) as made
order by n
"""

RUNS = f"insert into runs ({MADE}) select {MADE} from chunk order by n"

ANCESTRY = """
insert into run_ancestry (descendant, ancestor, depth)
select c.run_id, pg_temp.run_id(c.n - back), depth
from chunk c
join (values (1, 1, 1), (2, 2, 1), (3, 1, 1), (3, 3, 2), (4, 1, 1), (4, 2, 2), (4, 4, 3)) as way (place, back, depth)
    on c.n % 100 = place
order by c.n, depth
"""

ATTEMPTS = """
insert into run_attempts (run_id, attempt, pipeline, status, ended_at, duration_seconds, error_type, error_message,
    end_event_id, stored_at)
select run_id, 1, pipeline, 'failed', started_at - interval '1 minute', 42, 'TimeoutError', 'no answer in 30 s',
    pg_temp.digest(n, 'try')::uuid, started_at
from chunk where attempt = 2 order by n
"""

# Of each run of a scheduled pipeline the slot, and now and then one that nobody filled.
SLOTS = """
insert into expected_runs (pipeline, due_at, state, reason, timezone, grace_seconds, run_id, started_at, decided_at,
    revision, stored_at)
select pipeline, due_at, state, case when state = 'excused' then 'paused' end, p.timezone, p.grace_seconds,
    case when met then run_id end, case when met then started_at end, due_at + interval '5 minutes', revision,
    due_at + interval '5 minutes'
from (
    select n, number, run_id, started_at, revision, true as met,
        date_trunc('minute', started_at) - case when pg_temp.chance(n, 30) < 0.03 then interval '10 minutes'
            else interval '0' end as due_at,
        case when pg_temp.chance(n, 30) < 0.03 then 'late' else 'met' end as state
    from chunk where scheduled and parent_run_id is null and not backfill
    union all
    select n, number, run_id, started_at, revision, false, date_trunc('minute', started_at) - interval '30 minutes',
        case when pg_temp.chance(n, 32) < 0.75 then 'missed' when pg_temp.chance(n, 32) < 0.9 then 'excused'
            else 'unknown' end
    from chunk where scheduled and pg_temp.chance(n, 31) < 0.02) as slot
join numbered p using (number)
order by n, met
on conflict do nothing
"""

ANOMALIES = """
insert into anomalies (anomaly_id, pipeline, run_id, metric, value, expected, lower, upper, score, z_limit,
    baseline_runs, seasons, reason, rule, run_started_at, run_ended_at, muted, revision, stored_at)
select pg_temp.digest(n, metric)::uuid, pipeline, run_id, metric, value, value / 3, value / 4, value / 2,
    4 + 3 * pg_temp.chance(n, 33), 4, 80, '{weekday}', 'point', 'default', started_at, ended_at,
    pg_temp.chance(n, 34) < 0.05, revision, stored_at
from chunk
cross join lateral (values ('duration_seconds', duration_seconds::float8), ('inserts', inserts::float8))
    as judged (metric, value)
where anomalous and (metric = 'duration_seconds' or pg_temp.chance(n, 35) < 0.2)
order by n, metric
"""

# A history table is kept for 90 days.
WATERMARKS = """
insert into watermark_history (event_id, pipeline, dataset, kind, watermark, effective, effective_at, occurred_at,
    run_id, regressed, revision, stored_at)
select pg_temp.digest(n, 'watermark')::uuid, c.pipeline, '', p.watermark_kind, c.next_watermark, c.next_watermark,
    c.ended_at, c.ended_at, c.run_id, false, c.revision, c.stored_at
from chunk c join numbered p using (number)
where c.status = 'succeeded' and number % 3 = 0 and c.ended_at > pg_temp.until() - interval '90 days'
order by n
"""

# Freshness and starts are about a pipeline: those that run seldom have as many such incidents as the others.
INCIDENTS = """
insert into incidents (incident_id, fingerprint, pipeline, kind, subject, status, severity, title, owner,
    pipeline_type, run_id, facts, opened_at, cause_at, updated_at, resolved_at, resolve_reason, transition_no,
    revision, acknowledged_at, acknowledged_by, stored_at)
select incident_id, c.pipeline || '/' || kind, c.pipeline, kind, '', case when done then 'resolved' else 'open' end,
    case when kind in ('anomaly', 'timeliness') or pg_temp.chance(n, 44) < 0.2 then 'warn' else 'fail' end,
    c.pipeline || ': ' || kind, p.owner, p.type, c.run_id,
    jsonb_build_array(jsonb_build_object('name', 'duration_seconds', 'value', c.duration_seconds, 'limit', 3600)),
    opened_at, opened_at - interval '2 seconds', case when done then ends_at else opened_at end,
    case when done then ends_at end, case when done then 'recovered' end,
    1 + (acknowledged_at is not null)::integer + done::integer, c.revision, acknowledged_at,
    case when acknowledged_at is not null then 'anna@' || p.owner end, c.stored_at
from (
    select *, pg_temp.digest(n, 'incident')::uuid as incident_id, opened_at + lasts as ends_at,
        opened_at + lasts <= pg_temp.until() as done,
        case when pg_temp.chance(n, 45) < 0.4 and opened_at + lasts / 5 <= pg_temp.until()
            then opened_at + lasts / 5 end as acknowledged_at
    from (
        select *, case when status = 'failed' and pg_temp.chance(n, 40) < 0.2 then 'failure'
            when anomalous and pg_temp.chance(n, 40) < 0.15 then 'anomaly'
            when overdue and ended_at is not null and pg_temp.chance(n, 40) < 0.1 then 'timeliness'
            when status = 'lost' then 'lost'
            when fresh and seldom < 0.002 then 'freshness'
            when scheduled and seldom > 0.002 and seldom < 0.004 then 'missed_start' end as kind,
            coalesce(ended_at, started_at + interval '30 seconds') as opened_at,
            case when pg_temp.chance(n, 42) < 0.003 then interval '10 years'
                else make_interval(secs => 600 * exp(6 * pg_temp.chance(n, 41))) end as lasts
        from (
            select *, pg_temp.chance(n, 43) / sqrt((number + 0.5) / pg_temp.pipelines()) as seldom
            from chunk) as drawn) as wrong
    where kind is not null) as c
join numbered p using (number)
where opened_at <= pg_temp.until()
order by n
on conflict do nothing
"""

# What is made of each chunk, in the order in which the sink would write it.
OF_CHUNK = (RUNS, ANCESTRY, ATTEMPTS, SLOTS, ANOMALIES, WATERMARKS, INCIDENTS)
