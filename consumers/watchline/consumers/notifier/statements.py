"""What the notifier says to Postgres when it claims and marks; every value is bound."""

from __future__ import annotations

CLAIM = """
with busy as (
  select group_key from alert_outbox where destination = $4 and lease_until > statement_timestamp()
), attention as (
  select alert_id, group_key, next_attempt_at as at, created_at from alert_outbox
  where state = 'pending' and destination = $4
  union all
  select alert_id, group_key, next_attempt_at, created_at from alert_outbox o
  where state in ('sent', 'failed') and transition <> 'resolved' and destination = $4
    and next_attempt_at <= statement_timestamp() and not quiet
    and not exists (select from alert_outbox later where later.incident_id = o.incident_id
                    and later.transition_no > o.transition_no and not later.quiet)
    and not exists (select from incidents held where held.incident_id = o.incident_id and (
                    held.acknowledged_at is not null or held.snoozed_until > statement_timestamp()))
  union all
  select alert_id, group_key, refresh_at, created_at from alert_outbox
  where state in ('sent', 'failed') and destination = $4 and refresh_at <= statement_timestamp()
    and next_attempt_at > statement_timestamp()
), ready as (
  select group_key from attention a
  where group_key not in (select group_key from busy)
  group by group_key having max(at) <= statement_timestamp()
  order by max(at), min(created_at) limit $3
), mine as (
  select o.alert_id from alert_outbox o join attention using (alert_id)
  where o.group_key in (select group_key from ready)
  for update of o skip locked
)
update alert_outbox o set claimed_by = $1, lease_until = statement_timestamp() + $2
from mine where mine.alert_id = o.alert_id
returning o.alert_id
"""

# What is told of an alert; of one that was told before, its newest state.
ALERTS = """
select o.alert_id, o.incident_id, o.fingerprint, o.transition_no, o.transition, o.severity, o.pipeline,
  o.kind, o.owner, o.created_at, o.cause_at, o.attempts, o.quiet, o.storm_id, o.delivery_key, o.in_doubt_since,
  o.unanswered, o.state = 'pending' and o.inhibited_by is not null as held,
  case when o.state = 'pending' then o.payload::text else coalesce(
    (select e.record::text from incident_events e where e.incident_id = o.incident_id
     and e.transition_no >= o.transition_no and (e.transition = 'resolved') = (o.transition = 'resolved')
     order by e.transition_no desc limit 1), o.payload::text) end as payload,
  case when o.state <> 'pending' then coalesce(o.sent_at, o.created_at) end as told_at,
  case when o.state <> 'pending' and o.next_attempt_at > statement_timestamp() then o.refresh_at end as refresh_at,
  not exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
              and earlier.transition_no < o.transition_no)
  or exists (select from alert_outbox earlier where earlier.incident_id = o.incident_id
             and earlier.transition_no < o.transition_no
             and earlier.state not in ('suppressed', 'inhibited')) as announced,
  post.channel, post.channel_id, post.ts, held.count as held_count, held.names as held_names,
  statement_timestamp() as now
from alert_outbox o
left join lateral (
  select m.channel, m.channel_id, m.ts from alert_outbox p join alert_messages m using (message_id)
  where p.incident_id = o.incident_id order by p.transition_no desc limit 1) post on true
left join lateral (
  select count(distinct h.pipeline), (array_agg(distinct h.pipeline order by h.pipeline))[1:10] as names
  from alert_outbox h join incidents i using (incident_id)
  where h.state = 'inhibited' and h.inhibited_by = o.incident_id and i.status <> 'resolved'
  having count(*) > 0) held on true
where o.alert_id = any($1)
"""

OF_POST = """
select distinct on (p.incident_id) p.alert_id from alert_outbox p join alert_messages m using (message_id)
where m.channel_id = $1 and m.ts = $2 order by p.incident_id, p.transition_no desc
"""

OF_STORM = """
select distinct on (s.incident_id) s.alert_id from alert_outbox s
where s.storm_id = $1 and s.state not in ('suppressed', 'inhibited') order by s.incident_id, s.transition_no desc
"""

STORM = """
select s.storm_id, s.began_at, s.ended_at, m.channel, m.channel_id, m.ts from alert_storms s left join lateral (
  select m.channel, m.channel_id, m.ts from alert_outbox o join alert_messages m using (message_id)
  where o.storm_id = s.storm_id order by m.message_id desc limit 1) m on true
where s.storm_id = $1
"""

LAST_SENT = """
select storm_id, case when storm_id is null then pipeline else '' end as pipeline,
  case when storm_id is null then owner end as owner, max(sent_at) as sent_at
from alert_outbox
where state = 'sent' and sent_at > $1 and destination = $2 and (not quiet or storm_id is not null)
  and group_key in (select group_key from alert_outbox where alert_id = any($3))
group by 1, 2, 3
"""

# Noted before the request: whoever finds it without an answer knows that it may have been accepted.
RENEW = """
update alert_outbox set lease_until = now() + $3, in_doubt_since = coalesce(in_doubt_since, now()),
  delivery_key = $4, unanswered = unanswered + 1
where alert_id = any($1) and claimed_by = $2 returning alert_id
"""

DEFER = """
update alert_outbox set claimed_by = null, lease_until = null,
  refresh_at = case when alert_id = any($4) then $2 else refresh_at end,
  next_attempt_at = case when alert_id = any($4) then next_attempt_at else $2 end
where alert_id = any($1) and claimed_by = $3
"""

SUPPRESS = """
update alert_outbox set state = case when state = 'pending' then 'suppressed' else state end,
  suppressed_reason = case when state = 'pending' then $2 else suppressed_reason end,
  refresh_at = null, claimed_by = null, lease_until = null
where alert_id = any($1) and claimed_by = $3
"""

RELEASE = "update alert_outbox set claimed_by = null, lease_until = null where claimed_by = $1"

POSTED = """
insert into alert_messages (channel, channel_id, ts) values ($1, $2, $3)
on conflict (channel_id, ts) do update set channel = excluded.channel returning message_id
"""

# Its post is gone and was made anew, so all that it showed is now shown there.
MOVED = """
update alert_outbox set message_id = $3
where message_id = (select message_id from alert_messages where channel_id = $1 and ts = $2)
"""

MARK_SENT = """
update alert_outbox set state = 'sent', sent_at = now(), attempts = attempts + 1, last_error = null,
  claimed_by = null, lease_until = null, in_doubt_since = null, unanswered = 0,
  message_id = coalesce($4, message_id),
  next_attempt_at = case when alert_id = any($2) then now() + $3 else 'infinity' end
where alert_id = any($1)
"""

MARK_REFRESHED = """
update alert_outbox o set claimed_by = null, lease_until = null, in_doubt_since = null, unanswered = 0,
  sent_at = case when o.storm_id is null then o.sent_at else now() end, message_id = coalesce($3, message_id),
  refresh_at = case when o.refresh_at > r.refresh_at then o.refresh_at end
from unnest($1::bigint[], $2::timestamptz[]) as r (alert_id, refresh_at) where o.alert_id = r.alert_id
"""

END_REMINDERS = """
update alert_outbox o set next_attempt_at = 'infinity'
where incident_id = any($1) and state in ('sent', 'failed') and next_attempt_at < 'infinity'
  and exists (select from alert_outbox later where later.incident_id = o.incident_id
              and later.transition_no > o.transition_no and later.state = 'sent' and not later.quiet)
"""

# One more answer: of the sendings, only those after which somebody died stay unanswered.
MARK_RETRY = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  unanswered = greatest(unanswered - 1, 0), in_doubt_since = case when $6 then in_doubt_since end,
  state = case when state = 'pending' and created_at <= now() - $4::interval then 'failed' else state end,
  next_attempt_at = now() + case when state = 'pending' and created_at <= now() - $4::interval
                                 then $5::interval else $3::interval end
where alert_id = any($1) and state <> 'suppressed' returning state
"""

MARK_FAILED = """
update alert_outbox set attempts = attempts + 1, last_error = $2, claimed_by = null, lease_until = null,
  unanswered = 0, in_doubt_since = null,
  state = case when state = 'pending' then 'failed' else state end, next_attempt_at = now() + $3
where alert_id = any($1) and state <> 'suppressed' returning state
"""

REFRESH_LATER = """
update alert_outbox set refresh_at = now() + $2::interval, claimed_by = null, lease_until = null,
  unanswered = greatest(unanswered - 1, 0), in_doubt_since = null
where alert_id = any($1)
"""

RECORD = """
insert into alert_deliveries (alert_id, channel, outcome, http_status, detail)
select alert_id, $2, $3, $4, $5 from unnest($1::bigint[]) as alert_id
"""

CHANNEL_IDS = """
select distinct on (channel) channel, channel_id from alert_messages
where channel = any($1) order by channel, message_id desc
"""
