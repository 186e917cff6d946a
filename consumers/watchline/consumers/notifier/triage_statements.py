"""What the notifier says to Postgres before it claims; every value is bound."""

from __future__ import annotations

# Alerts that have no destination yet, with where their incident was told before.
UNADDRESSED = """
select o.alert_id, o.incident_id, o.transition, o.quiet, o.pipeline, o.owner, o.kind, o.severity, o.storm_id,
  o.payload ->> 'pipeline_type' as type, before.destination as told_at, before.storm_id as told_in
from alert_outbox o left join lateral (
  select e.destination, e.storm_id from alert_outbox e
  where e.incident_id = o.incident_id and e.transition_no < o.transition_no and e.destination is not null
    and e.state <> 'suppressed'
  order by e.transition_no desc limit 1) before on true
where o.destination is null and (o.state in ('pending', 'inhibited') or o.next_attempt_at < 'infinity')
order by o.incident_id, o.transition_no limit 5000
"""

ADDRESS = """
update alert_outbox o set destination = a.destination, group_key = a.group_key, storm_id = a.storm_id
from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) as a (alert_id, destination, group_key, storm_id)
where o.alert_id = a.alert_id
"""

# Routes may have changed since: what is still to be told finds its place anew.
FORGET_DESTINATIONS = """
with moved as (
  update alert_outbox set destination = null, group_key = null, storm_id = null
  where destination <> all($1::text[]) and (state in ('pending', 'inhibited') or next_attempt_at < 'infinity')
)
update alert_storms set ended_at = now() where ended_at is null and destination <> all($1::text[])
"""

# What nobody has been told of yet, and reminders that are due.
HOLDABLE = """
select o.alert_id, o.incident_id, o.pipeline, o.state, o.inhibited_by is not null as held,
  (o.payload ->> 'opened_at')::timestamptz as opened_at
from alert_outbox o
where o.destination = $1 and o.kind = any($2) and o.transition <> 'resolved' and not o.quiet
  and o.in_doubt_since is null and (o.lease_until is null or o.lease_until <= statement_timestamp())
  and (o.state = 'pending' or (o.state in ('sent', 'failed') and o.next_attempt_at <= statement_timestamp()))
"""

# An incident that nobody was or will be told of explains nothing to anybody.
OPEN_LATENESS = """
select i.incident_id, i.pipeline, i.opened_at from incidents i
where i.status <> 'resolved' and i.kind = any($1) and exists (
  select from alert_outbox o where o.incident_id = i.incident_id and o.state in ('pending', 'sent', 'failed'))
"""

# Failures that people are or will be told of, about a run below that of another failure.
FAILED_BELOW = """
select distinct own.incident_id, own.opened_at, cause.incident_id as cause_id, cause.opened_at as cause_opened_at,
  a.depth
from incidents own
join incidents cause on cause.kind = own.kind and cause.status <> 'resolved' and cause.incident_id <> own.incident_id
join incident_events e on e.incident_id = cause.incident_id
join run_ancestry a on a.ancestor = own.run_id and a.descendant = (e.record ->> 'run_id')::uuid
where own.incident_id = any($1::uuid[]) and exists (
  select from alert_outbox o where o.incident_id = cause.incident_id and o.state in ('pending', 'sent', 'failed'))
"""

# The sum too: a transaction that began earlier and commits later moves neither the count nor the newest time.
LINEAGE_VERSION = "select count(*), max(updated_at), sum(revision) from pipelines"

LINEAGE = """
select pipeline, declaration -> 'sources' as sources, declaration -> 'targets' as targets from pipelines
where declaration is not null
"""

# What has been told stays told: its reminder waits for another interval.
INHIBIT = """
update alert_outbox o set inhibited_by = h.cause, inhibited_at = now(),
  state = case when o.state = 'pending' then 'inhibited' else o.state end,
  next_attempt_at = case when o.state = 'pending' then 'infinity' else now() + $3::interval end
from unnest($1::bigint[], $2::uuid[]) as h (alert_id, cause) where o.alert_id = h.alert_id
"""

# The post of a cause says whom it holds back; a change may wait a moment for others.
REFRESH_CAUSES = """
update alert_outbox o set refresh_at = now() + $2
where o.incident_id = any($1::uuid[]) and o.state = 'sent' and o.message_id is not null
  and o.transition <> 'resolved' and o.next_attempt_at < 'infinity'
  and (o.refresh_at is null or o.refresh_at <= now())
"""

# The cause is over: what is still late after a while is told.
RELEASE_HELD = """
update alert_outbox o set state = 'pending', next_attempt_at = now() + $2
from incidents cause, incidents own
where o.destination = $1 and o.state = 'inhibited' and cause.incident_id = o.inhibited_by
  and cause.status = 'resolved' and own.incident_id = o.incident_id and own.status <> 'resolved'
"""

# It is now about a run that fails for another reason. Its cause may only not be known yet, so that waits as well.
RELEASE_FAILED = """
update alert_outbox o set state = 'pending', next_attempt_at = now() + $2 from incidents own
where o.destination = $1 and o.state = 'inhibited' and o.kind = 'failure' and own.incident_id = o.incident_id
  and not exists (
    select from incident_events e join run_ancestry a on a.descendant = (e.record ->> 'run_id')::uuid
    where e.incident_id = o.inhibited_by and a.ancestor = own.run_id)
"""

# It ended while it was held back: nobody hears of it.
CLOSE_HELD = """
update alert_outbox o set state = 'suppressed', suppressed_reason = 'inhibited' from incidents own
where o.destination = $1 and o.state = 'inhibited' and own.incident_id = o.incident_id and own.status = 'resolved'
"""

NEW_INCIDENTS = """
select count(distinct incident_id) from alert_outbox
where destination = $1 and transition = 'opened' and not quiet and state in ('pending', 'sent', 'failed')
  and (state = 'pending' or created_at > now() - $2::interval)
  and (state <> 'pending' or inhibited_by is null or next_attempt_at <= now())
"""

OPEN_STORM = "select storm_id from alert_storms where destination = $1 and ended_at is null"

BEGIN_STORM = "insert into alert_storms (destination) values ($1) returning storm_id"

END_STORM = "update alert_storms set ended_at = now() where storm_id = $1"

# The digest says that the storm is over, also when there is nothing else to say.
REFRESH_STORM = """
update alert_outbox set refresh_at = now() where alert_id = (
  select alert_id from alert_outbox where storm_id = $1 and state = 'sent' order by sent_at desc limit 1)
"""

# New incidents that nobody was told of, with all that has become of them since.
SWEEP = """
update alert_outbox o set storm_id = $2, group_key = $3, next_attempt_at = least(next_attempt_at, now())
where o.destination = $1 and o.state = 'pending' and o.storm_id is null
  and (o.lease_until is null or o.lease_until <= statement_timestamp())
  and exists (select from alert_outbox first where first.incident_id = o.incident_id
              and first.transition = 'opened' and first.state = 'pending'
              and first.in_doubt_since is null
              and (first.inhibited_by is null or first.next_attempt_at <= now())
              and (first.lease_until is null or first.lease_until <= statement_timestamp()))
"""

# Changes that call nobody, and that the sink puts into no outbox: they are shown in the post of their incident.
GATHER_CHANGES = """
insert into alert_outbox (incident_id, fingerprint, transition_no, transition, severity, pipeline, kind, owner,
  payload, cause_at, quiet)
select e.incident_id, o.fingerprint, e.transition_no, e.transition, e.severity, o.pipeline, o.kind, o.owner,
  e.record, o.cause_at, true
from alert_outbox o join incident_events e on e.incident_id = o.incident_id and e.transition_no > o.transition_no
where o.destination = $1 and o.state = 'sent' and o.message_id is not null and o.next_attempt_at < 'infinity'
  and e.transition in ('updated', 'acknowledged', 'snoozed', 'woken')
  and not exists (select from alert_outbox k
                  where k.incident_id = e.incident_id and k.transition_no = e.transition_no)
order by e.incident_id, e.transition_no
on conflict do nothing
"""
