"""Which resolved incidents go, and before them their changes, alerts, messages and storms.

What is told of one incident stays or goes as a whole, and all of it stays while an alert of it waits for something.
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from watchline.consumers.retention.rules import Rule, Walk

# `offset 0` keeps the planner from answering for all incidents at once, which would read all alerts.
SETTLED = """i.status = 'resolved'
    and not exists (select from alert_outbox o where o.incident_id = i.incident_id
        and (o.state in ('pending', 'held', 'inhibited') or o.lease_until > statement_timestamp()) offset 0)
    and not exists (select from alert_outbox h
        where h.inhibited_by = i.incident_id and h.state = 'inhibited' offset 0)"""


def told_since(parameter: str) -> str:
    """Whether an alert of the incident was written or sent since the cutoff of that parameter."""
    return (
        "exists (select from alert_outbox y where y.incident_id = i.incident_id "
        f"and greatest(y.created_at, y.sent_at) >= {parameter} offset 0)"
    )


RESOLVED = Walk(
    "select resolved_at, incident_id from incidents where status = 'resolved' and resolved_at < $4 "
    "and (resolved_at, incident_id) > ($1, $2) order by resolved_at, incident_id limit $3",
    (datetime(1, 1, 1, tzinfo=UTC), UUID(int=0)),
    size=200,
    dated=True,
)
_OF_WALK = """
select i.incident_id from unnest($1::timestamptz[], $2::uuid[]) as w (resolved_at, incident_id)
join incidents i on i.incident_id = w.incident_id
"""
# How long data was stale, as reporting.sla counts it, is read from the changes: those stay as long as the incident.
EVENTS = f"""
{_OF_WALK} where i.resolved_at < $3 and {SETTLED}
    and (i.kind <> 'freshness' or i.severity <> 'fail' or i.resolved_at < $4)
    and exists (select from incident_events e where e.incident_id = i.incident_id)
limit $5 {{locked}}
"""
ALERTS = f"""
{_OF_WALK} where i.resolved_at < $3 and {SETTLED} and not {told_since("$3")}
    and exists (select from alert_outbox o where o.incident_id = i.incident_id)
limit $4 {{locked}}
"""
_UNCLAIMED = "incident_id = any($1::uuid[]) and (lease_until is null or lease_until <= statement_timestamp())"
# The last post of a channel stays: the bot knows its id by it.
MESSAGES = f"""
select m.message_id from alert_messages m
where m.posted_at < $1
    and exists (select from alert_messages n where n.channel_id = m.channel_id and n.ts > m.ts)
    and not exists (
        select from alert_outbox a left join incidents i using (incident_id) where a.message_id = m.message_id
            and not coalesce(i.resolved_at < $1 and {SETTLED} and not {told_since("$1")}, false))
    {{childless}}
order by m.posted_at limit $2
"""  # noqa: S608 - constants
STORMS = f"""
select s.storm_id from alert_storms s
where s.ended_at < $1
    and not exists (
        select from alert_outbox a left join incidents i using (incident_id) where a.storm_id = s.storm_id
            and not coalesce(i.resolved_at < $1 and {SETTLED} and not {told_since("$1")}, false))
    {{childless}}
order by s.ended_at limit $2
"""  # noqa: S608 - constants
INCIDENTS = f"""
{_OF_WALK} where i.resolved_at < $3 and {SETTLED} and not {told_since("$4")} {{childless}}
limit $5 {{locked}}
"""
LOCKED = "for update of i skip locked"

RULES = (
    Rule(
        "incident_events", ("incident_events", "incidents"), EVENTS,
        (("incident_events", "from incident_events where incident_id = any($1::uuid[])"),),
        walk=RESOLVED, locked=LOCKED,
    ),
    Rule(
        "alert_outbox", ("alert_outbox",), ALERTS,
        (
            ("alert_deliveries", f"from alert_deliveries where alert_id in "  # noqa: S608 - a constant
                f"(select alert_id from alert_outbox where {_UNCLAIMED})"),
            ("alert_outbox", f"from alert_outbox where {_UNCLAIMED}"),
        ),
        walk=RESOLVED, locked=LOCKED,
    ),
    Rule(
        "alert_outbox", ("alert_outbox",), MESSAGES,
        (("alert_messages", "from alert_messages where message_id = any($1::bigint[])"),),
        childless="and not exists (select from alert_outbox c where c.message_id = m.message_id)",
    ),
    Rule(
        "alert_outbox", ("alert_outbox",), STORMS,
        (("alert_storms", "from alert_storms where storm_id = any($1::bigint[])"),),
        childless="and not exists (select from alert_outbox c where c.storm_id = s.storm_id)",
    ),
    Rule(
        "incidents", ("incidents", "alert_outbox"), INCIDENTS,
        (("incidents", "from incidents where incident_id = any($1::uuid[])"),),
        walk=RESOLVED, locked=LOCKED,
        childless="and not exists (select from incident_events e where e.incident_id = i.incident_id) "
            "and not exists (select from alert_outbox c where c.incident_id = i.incident_id)",
    ),
)  # fmt: skip
