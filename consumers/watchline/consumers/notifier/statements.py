"""What the notifier says to Postgres; every value is bound."""

from __future__ import annotations

CLAIM = """
with busy as (
  select pipeline, owner from alert_outbox where lease_until > statement_timestamp()
), attention as (
  select alert_id, pipeline, owner, next_attempt_at, created_at from alert_outbox where state = 'pending'
  union all
  select alert_id, pipeline, owner, next_attempt_at, created_at from alert_outbox o
  where state in ('sent', 'failed') and transition <> 'resolved' and next_attempt_at <= statement_timestamp()
    and not exists (select from alert_outbox later
                    where later.incident_id = o.incident_id and later.transition_no > o.transition_no)
    and not exists (select from incidents quiet where quiet.incident_id = o.incident_id and (
                    quiet.acknowledged_at is not null or quiet.snoozed_until > statement_timestamp()))
), ready as (
  select pipeline, owner from attention a
  where not exists (select from busy b where b.pipeline = a.pipeline and b.owner is not distinct from a.owner)
  group by pipeline, owner having max(next_attempt_at) <= statement_timestamp()
  order by max(next_attempt_at), min(created_at) limit $3
), mine as (
  select o.alert_id from alert_outbox o join attention using (alert_id)
  join ready r on r.pipeline = o.pipeline and r.owner is not distinct from o.owner
  for update of o skip locked
)
update alert_outbox o set claimed_by = $1, lease_until = statement_timestamp() + $2
from mine where mine.alert_id = o.alert_id
returning o.alert_id, o.incident_id, o.fingerprint, o.transition_no, o.transition, o.severity, o.pipeline,
  o.kind, o.owner, o.payload::text as payload, o.created_at, o.cause_at, o.attempts,
  case when o.state <> 'pending' then coalesce(o.sent_at, o.created_at) end as told_at,
  not exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
              and earlier.transition_no < o.transition_no)
  or exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
             and earlier.transition_no < o.transition_no and earlier.state <> 'suppressed') as announced,
  statement_timestamp() as now
"""

LAST_SENT = """
select pipeline, owner, max(sent_at) as sent_at from alert_outbox
where state = 'sent' and sent_at > $1 and pipeline = any($2) group by pipeline, owner
"""

RENEW = """
update alert_outbox set lease_until = now() + $3
where alert_id = any($1) and claimed_by = $2 returning alert_id
"""

DEFER = """
update alert_outbox set next_attempt_at = $2, claimed_by = null, lease_until = null
where alert_id = any($1) and claimed_by = $3
"""

SUPPRESS = """
update alert_outbox set state = 'suppressed', suppressed_reason = $2, claimed_by = null, lease_until = null
where alert_id = any($1) and state = 'pending' and claimed_by = $3
"""

RELEASE = "update alert_outbox set claimed_by = null, lease_until = null where claimed_by = $1"

MARK_SENT = """
update alert_outbox set state = 'sent', sent_at = now(), attempts = attempts + 1, last_error = null,
  claimed_by = null, lease_until = null,
  next_attempt_at = case when alert_id = any($2) then now() + $3 else 'infinity' end
where alert_id = any($1)
"""

END_REMINDERS = """
update alert_outbox o set next_attempt_at = 'infinity'
where incident_id = any($1) and state in ('sent', 'failed') and next_attempt_at < 'infinity'
  and exists (select from alert_outbox later where later.incident_id = o.incident_id
              and later.transition_no > o.transition_no and later.state = 'sent')
"""

MARK_RETRY = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  state = case when state = 'pending' and created_at <= now() - $4::interval then 'failed' else state end,
  next_attempt_at = now() + case when state = 'pending' and created_at <= now() - $4::interval
                                 then $5::interval else $3::interval end
where alert_id = any($1) and state <> 'suppressed' returning state
"""

MARK_FAILED = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  state = case when state = 'pending' then 'failed' else state end, next_attempt_at = now() + $3
where alert_id = any($1) and state <> 'suppressed' returning state
"""

RECORD = """
insert into alert_deliveries (alert_id, channel, outcome, http_status, detail)
select alert_id, $2, $3, $4, $5 from unnest($1::bigint[]) as alert_id
"""
