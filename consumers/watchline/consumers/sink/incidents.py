"""Writing `incidents`, `incident_events` and, in the same transaction, `alert_outbox`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from watchline.consumers.sink.findings import row_of
from watchline.consumers.sink.statements import insert, rows, upsert
from watchline.schemas.records import IncidentRecord

INCIDENTS = upsert(
    "incidents",
    "incident_id",
    "incident_id fingerprint pipeline kind subject status severity title owner pipeline_type run_id facts "
    "opened_at cause_at updated_at resolved_at resolve_reason transition_no revision acknowledged_at acknowledged_by "
    "snoozed_until note",
    newer="revision transition_no",  # an end can open and resolve an incident at once
)
EVENTS = (
    insert(
        "incident_events",
        "incident_id transition_no",
        "incident_id transition_no transition severity at resolve_reason record revision",
    )
    + " on conflict do nothing returning incident_id, transition_no"
)
# Ends what is open under the fingerprint of an incident about to be stored, unless that one is old news.
SUPERSEDED = """
with opening as (select * from jsonb_populate_recordset(null::incidents, $1::jsonb)),
closed as (
    update incidents i set status = 'resolved', resolve_reason = 'superseded', resolved_at = o.opened_at,
        updated_at = o.opened_at, transition_no = i.transition_no + 1, stored_at = now()
    from opening o
    where i.status = 'open' and i.fingerprint = o.fingerprint and i.incident_id <> o.incident_id
        and not exists (
            select from incidents k where k.incident_id = o.incident_id and k.revision >= o.revision)
    returning i.*)
insert into incident_events (incident_id, transition_no, transition, severity, at, resolve_reason, record, revision)
select c.incident_id, c.transition_no, 'resolved', c.severity, c.resolved_at, 'superseded',
    coalesce((select e.record from incident_events e where e.incident_id = c.incident_id
        order by e.transition_no desc limit 1), '{}')
    || jsonb_build_object('transition', 'resolved', 'transition_no', c.transition_no, 'resolved_at', c.resolved_at,
        'at', c.resolved_at, 'resolve_reason', 'superseded'), c.revision
from closed c on conflict do nothing
"""
# Openings, resolves, escalations and ends of a snooze. The states say why a message is not sent; a resolve and the end
# of a snooze follow their opening.
OUTBOX = """
insert into alert_outbox (
    incident_id, fingerprint, transition_no, transition, severity, pipeline, kind, owner, payload, cause_at,
    state, suppressed_reason)
select e.incident_id, e.record ->> 'fingerprint', e.transition_no, e.transition, e.severity,
    e.record ->> 'pipeline', e.record ->> 'kind', e.record ->> 'owner', e.record,
    (e.record ->> 'cause_at')::timestamptz,
    case when quiet.reason is null then 'pending' else 'suppressed' end, quiet.reason
from unnest($1::uuid[], $2::integer[]) as told (incident_id, transition_no)
join incident_events e using (incident_id, transition_no),
lateral (select case
    when e.transition = 'opened' and (e.record ->> 'cause_at')::timestamptz < $3 then 'too_old'
    when e.transition in ('updated', 'woken') and e.at < $3 then 'too_old'
    when e.transition = 'resolved' and e.record ->> 'snoozed_until' is not null then 'snoozed'
    when e.transition in ('resolved', 'woken') and not exists (
        select from alert_outbox o where o.incident_id = e.incident_id
            and o.transition_no < e.transition_no and o.state <> 'suppressed') then 'opening_not_sent'
    end as reason) as quiet
where (e.transition in ('resolved', 'woken')) = $4
    and e.transition not in ('acknowledged', 'snoozed')
    and (e.transition <> 'updated' or (e.severity = 'fail' and 'warn' = (
        select p.severity from incident_events p
        where p.incident_id = e.incident_id and p.transition_no < e.transition_no
        order by p.transition_no desc limit 1)))
order by e.incident_id, e.transition_no
on conflict do nothing
"""


async def store_incidents(
    connection: asyncpg.Connection, records: list[IncidentRecord], *, now: datetime, alert_max_age: timedelta
) -> None:
    """Store every transition, the newest state of each incident, and what people should hear of it.

    `now` is when the records were read: a cause older than `alert_max_age` then is kept and not sent.
    """
    if not records:
        return
    new = await connection.fetch(EVENTS, rows(event_row(record) for record in records))
    for states in rounds_of(records):
        payload = rows(states)
        await connection.execute(SUPERSEDED, payload)
        await connection.execute(INCIDENTS, payload)
    told = [row["incident_id"] for row in new], [row["transition_no"] for row in new]
    for later in (False, True):  # a resolve looks at the rows of its opening
        await connection.execute(OUTBOX, *told, now - alert_max_age, later)


def rounds_of(records: Iterable[IncidentRecord]) -> list[list[dict[str, Any]]]:
    """The newest state of each incident, in rounds: after those of its fingerprint that began earlier."""
    newest: dict[UUID, IncidentRecord] = {}
    for record in sorted(records, key=lambda one: (one.revision, one.transition_no)):
        newest[record.incident_id] = record  # keeps its place: where the incident came first
    rounds: list[list[dict[str, Any]]] = []
    seen: Counter[str] = Counter()
    for record in newest.values():
        turn = seen[record.fingerprint]
        seen[record.fingerprint] += 1
        if turn == len(rounds):
            rounds.append([])
        rounds[turn].append(incident_row(record))
    return rounds


def incident_row(record: IncidentRecord) -> dict[str, Any]:
    resolved = record.transition == "resolved"
    return row_of(record) | {
        "status": "resolved" if resolved else "open",
        "updated_at": record.at.isoformat(),
        "resolved_at": (record.resolved_at or record.at).isoformat() if resolved else None,
    }


def event_row(record: IncidentRecord) -> dict[str, Any]:
    return {
        "incident_id": record.incident_id,
        "transition_no": record.transition_no,
        "transition": record.transition,
        "severity": record.severity,
        "at": record.at,
        "resolve_reason": record.resolve_reason,
        "record": record.model_dump(mode="json"),
        "revision": record.revision,
    }
