"""SQL that makes what follows from the rows of all chunks: transitions, alerts, answers of people, what stands now."""

from __future__ import annotations

EVENTS = """
insert into incident_events (incident_id, transition_no, transition, severity, at, resolve_reason, record, revision,
    stored_at)
select incident_id, case step when 'opened' then 1 when 'acknowledged' then 2 else i.transition_no end, step, severity,
    happened_at, case when step = 'resolved' then resolve_reason end,
    to_jsonb(i) - array['status', 'state', 'updated_at', 'revision', 'stored_at']
        || jsonb_build_object('record_type', 'incident', 'transition', step, 'at', happened_at),
    revision, happened_at
from incidents i
cross join lateral (values ('opened', opened_at), ('acknowledged', acknowledged_at), ('resolved', resolved_at))
    as happened (step, happened_at)
where happened_at is not null
order by happened_at, incident_id
"""

# Nine in ten are told, and people get one post an incident, which its end changes.
OUTBOX = """
insert into alert_outbox (incident_id, fingerprint, transition_no, transition, severity, pipeline, kind, owner, payload,
    created_at, cause_at, state, suppressed_reason, attempts, next_attempt_at, last_error, sent_at, destination,
    group_key, quiet)
select incident_id, fingerprint, transition_no, transition, severity, pipeline, kind, owner, record, at, cause_at,
    state, case when state = 'suppressed' then 'too_old' end,
    case state when 'sent' then 1 when 'failed' then 5 else 0 end,
    'infinity', case when state = 'failed' then '404 channel_not_found' end,
    case when state = 'sent' then at + make_interval(secs => 1 + 30 * luck) end,
    'slack', fingerprint, false
from (
    select e.*, i.fingerprint, i.pipeline, i.kind, i.owner, i.cause_at,
        case when luck < 0.9 then 'sent' when luck < 0.97 then 'suppressed' when luck < 0.99 then 'failed'
            else 'inhibited' end as state, luck
    from incident_events e join incidents i using (incident_id)
    cross join lateral (select pg_temp.chance(hashtextextended(e.incident_id::text, 0), 60) as luck offset 0) as thrown
    where e.transition <> 'acknowledged') as told
order by at, incident_id
"""

MESSAGES = """
insert into alert_messages (channel, channel_id, ts, posted_at)
select '#' || coalesce(owner, 'data'), 'C' || coalesce(owner, 'data'), incident_id, sent_at from alert_outbox
where transition = 'opened' and sent_at is not null order by sent_at
"""

POSTS = """
update alert_outbox o set message_id = m.message_id from alert_messages m
where m.ts = o.incident_id::text and o.sent_at is not null
"""

DELIVERIES = """
insert into alert_deliveries (alert_id, channel, attempted_at, outcome, http_status, detail)
select alert_id, '#' || coalesce(owner, 'data'), at, outcome, status, detail
from alert_outbox
cross join lateral (
    select 'accepted' as outcome, 200 as status, null as detail, sent_at as at where state = 'sent'
    union all
    select 'retry', 429, 'ratelimited', created_at where state = 'sent' and alert_id % 20 = 0
    union all
    select 'rejected', 404, 'channel_not_found', created_at + interval '1 minute' where state = 'failed') as tried
order by at
"""

COMMANDS = """
insert into commands (event_id, pipeline, command, at, given_by, note, outcome, incident_id, revision, stored_at)
select md5('acknowledged' || incident_id)::uuid, pipeline, 'incident.acknowledged', acknowledged_at, acknowledged_by,
    'on it', 'applied', incident_id, revision, acknowledged_at
from incidents where acknowledged_at is not null order by acknowledged_at
"""

FEEDBACK = """
insert into anomaly_feedback (pipeline, run_id, metric, verdict, given_by, given_at, event_id, learnt, revision)
select pipeline, run_id, '*', 'expected', 'ben@example.org', run_ended_at + interval '1 hour',
    md5('feedback' || run_id)::uuid, true, revision
from anomalies where metric = 'duration_seconds' and revision % 16 = 2 order by run_ended_at
"""

LETTERS = """
insert into dead_letters (reason, detail, source_topic, source_partition, source_offset, log_epoch, source_timestamp,
    key, value, failed_at, stored_at)
select 'not_json', 'the value is no JSON: line 1, column 1', 'watchline.runs', n % 8, n, 0, pg_temp.at(n), 'orders',
    convert_to(repeat('not json ', 40), 'UTF8'), pg_temp.at(n), pg_temp.at(n)
from generate_series(0, $1::bigint - 1, 1000) as n order by n
"""

STANDING = """
insert into watermarks (pipeline, dataset, kind, watermark, effective, effective_at, occurred_at, event_id, regressed,
    regressions, revision)
select p.pipeline, dataset, p.watermark_kind, mark, mark, pg_temp.until(), pg_temp.until(),
    md5(p.pipeline || dataset)::uuid, false, 0, 1
from numbered p
cross join lateral (values (''), ('layer_0.table_00000')) as of (dataset)
cross join lateral (select case p.watermark_kind
    when 'timestamp' then to_char(pg_temp.until() - make_interval(hours => number % 72), 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    when 'integer' then (1000000 + number)::text else 'part-' || number end as mark) as marked
where dataset = '' or number % 5 = 0
order by number, dataset
"""

NEXT = """
insert into expected_runs (pipeline, due_at, state, timezone, grace_seconds, revision)
select pipeline, date_trunc('hour', pg_temp.until()) + interval '1 hour', 'expected', timezone, grace_seconds, 1
from numbered where scheduled order by number
"""

PULSES = """
insert into ingestion (log_epoch, partition, pulse_at, revision, stored_at)
select 0, partition, pg_temp.until() - interval '5 seconds', 1, pg_temp.until() from generate_series(0, 7) as partition
"""

HOURS = """
insert into ingestion_hours (hour, events)
select hour, 400 from generate_series(date_trunc('hour', pg_temp.at(0)), pg_temp.until(), '1 hour') as hour
"""

# A pipeline is known since its first declaration; the sink that filled the table a moment ago put the present there.
SEEN = "update pipelines p set first_seen_at = v.at from (select pipeline, min(first_declared_at) as at \
from pipeline_versions group by 1) v where v.pipeline = p.pipeline"

CLOSING = (EVENTS, OUTBOX, MESSAGES, POSTS, DELIVERIES, COMMANDS, FEEDBACK, STANDING, NEXT, PULSES, HOURS)
