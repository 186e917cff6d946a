"""Incidents and alerts to test with, and their way into the outbox."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from watchline.consumers.notifier.alert import Alert, Message
from watchline.consumers.sink.incidents import store_incidents
from watchline.schemas.records import IncidentFact, IncidentRecord

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
RUN = UUID("0197a1b2-0000-7000-8000-000000000001")
INSERTS = IncidentFact(
    name="inserts", value=12, expected=1120, lower=950, upper=1310, score=-9.1, baseline_runs=212, unit="rows"
)
COLUMNS = {
    "incident_id",
    "fingerprint",
    "transition_no",
    "transition",
    "severity",
    "pipeline",
    "kind",
    "owner",
    "cause_at",
}

_numbers = count(1)


def after(**parts: float) -> datetime:
    """Noon and a while."""
    return NOON + timedelta(**parts)


def incident(**changes: Any) -> IncidentRecord:
    """An anomaly of orders_daily that opened at noon; any field can be changed."""
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": 1,
        "incident_id": uuid4(),
        "fingerprint": uuid4().hex,
        "kind": "anomaly",
        "transition": "opened",
        "transition_no": 1,
        "severity": "fail",
        "at": NOON,
        "opened_at": NOON,
        "cause_at": NOON,
        "run_id": RUN,
        "owner": "sales",
        "title": "inserts below the expected range",
        "facts": (INSERTS,),
    }
    return IncidentRecord(**(fields | changes))


def resolved(opened: IncidentRecord, at: datetime, reason: str = "recovered") -> IncidentRecord:
    """The end of `opened`."""
    changes = {"transition": "resolved", "transition_no": opened.transition_no + 1, "at": at, "resolved_at": at}
    return IncidentRecord.model_validate({**opened.model_dump(), **changes, "resolve_reason": reason})


def changed(opened: IncidentRecord, **changes: Any) -> IncidentRecord:
    """A change of `opened` a minute later."""
    at = opened.at + timedelta(minutes=1)
    fields = {**opened.model_dump(), "transition": "updated", "transition_no": opened.transition_no + 1, "at": at}
    return IncidentRecord.model_validate({**fields, **changes})


def alert(of: IncidentRecord, **changes: Any) -> Alert:
    """An alert that came into the outbox at the time of its incident's transition."""
    return replace(Alert(alert_id=next(_numbers), incident=of, created_at=of.at), **changes)


def message(*incidents: IncidentRecord) -> Message:
    """A message of one alert per incident."""
    return Message(tuple(alert(each) for each in incidents))


async def enqueue(connection: asyncpg.Connection, of: IncidentRecord, **changes: Any) -> int:
    """Put an incident into the outbox, as the sink does, and return the id of its alert."""
    row = {**of.model_dump(include=COLUMNS), "payload": of.model_dump_json(), **changes}
    values = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    statement = f"insert into alert_outbox ({', '.join(row)}) values ({values}) returning alert_id"
    return int(await connection.fetchval(statement, *row.values()))


async def store(connection: asyncpg.Connection, *incidents: IncidentRecord) -> None:
    """Have the sink store transitions with their alerts as of now."""
    now = datetime.now(UTC)
    fresh = [each.model_copy(update={"cause_at": now, "at": now, "revision": next(_numbers)}) for each in incidents]
    async with connection.transaction():
        await store_incidents(connection, fresh, now=now, alert_max_age=timedelta(days=1))


async def record(connection: asyncpg.Connection, of: IncidentRecord) -> None:
    """Store a transition, as the sink does, without an alert."""
    await connection.execute(
        "insert into incident_events (incident_id, transition_no, transition, severity, at, record, revision) "
        "values ($1, $2, $3, $4, $5, $6, 1)",
        of.incident_id,
        of.transition_no,
        of.transition,
        of.severity,
        of.at,
        of.model_dump_json(),
    )


async def reach(
    connection: asyncpg.Connection, alert_id: int, condition: str, *, seconds: float = 20.0
) -> asyncpg.Record:
    """The row of an alert once `condition` (SQL) holds for it; TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while True:
            row = await connection.fetchrow(
                f"select * from alert_outbox where alert_id = $1 and ({condition})", alert_id
            )
            if row is not None:
                return row
            await asyncio.sleep(0.02)
