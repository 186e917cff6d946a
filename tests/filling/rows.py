"""Rows as the sink and the notifier leave them, in as few words as a case needs; and what a view shows of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from sinking.records import name_id

MARCH = datetime(2024, 3, 4, 12, 0, tzinfo=UTC)  # a Monday
_revisions = count(1)


def march(day: int, hour: int = 0, minute: int = 0) -> datetime:
    """A time of March 2024, UTC."""
    return datetime(2024, 3, day, hour, minute, tzinfo=UTC)


async def put(connection: asyncpg.Connection, table: str, **values: Any) -> Any:
    """Insert one row; returns its first column."""
    names = ", ".join(values)
    places = ", ".join(f"${number}" for number in range(1, len(values) + 1))
    statement = f"insert into {table} as new ({names}) values ({places}) returning *"
    return await connection.fetchval(statement, *values.values())


async def pipeline(connection: asyncpg.Connection, name: str = "orders", **values: Any) -> None:
    await put(connection, "pipelines", **{"pipeline": name, "type": "load", "owner": "sales"} | values)


async def run(
    connection: asyncpg.Connection, at: datetime | None = MARCH, seconds: float | None = 60, **values: Any
) -> UUID:
    """A run of orders that started `at` and succeeded after `seconds`; None: it has not ended."""
    status = "running" if seconds is None else "succeeded"
    ended = None if at is None or seconds is None else at + timedelta(seconds=seconds)
    fields: dict[str, Any] = {
        "run_id": uuid4(), "pipeline": "orders", "started_at": at, "status": status, "ended_at": ended,
        "duration_seconds": seconds, "revision": next(_revisions),
    }  # fmt: skip
    found: UUID = await put(connection, "runs", **fields | values)
    return found


async def incident(
    connection: asyncpg.Connection, opened: datetime = MARCH, resolved: datetime | None = None, **values: Any
) -> UUID:
    """An incident about a failure of orders."""
    fields: dict[str, Any] = {
        "incident_id": uuid4(), "fingerprint": uuid4().hex, "pipeline": "orders", "kind": "failure",
        "status": "open" if resolved is None else "resolved", "severity": "fail", "title": "it failed",
        "opened_at": opened, "cause_at": opened, "updated_at": opened, "resolved_at": resolved,
        "transition_no": 1, "revision": next(_revisions),
    }  # fmt: skip
    found: UUID = await put(connection, "incidents", **fields | values)
    return found


async def transition(connection: asyncpg.Connection, incident_id: UUID, at: datetime, **values: Any) -> None:
    """What happened to an incident; the first one opens it as a warning."""
    fields: dict[str, Any] = {
        "incident_id": incident_id, "transition_no": 1, "transition": "opened", "severity": "warn", "at": at,
        "record": "{}", "revision": next(_revisions),
    }  # fmt: skip
    await put(connection, "incident_events", **fields | values)


async def slot(connection: asyncpg.Connection, due: datetime, state: str, **values: Any) -> None:
    fields: dict[str, Any] = {
        "pipeline": "orders", "due_at": due, "state": state, "timezone": "UTC", "grace_seconds": 300,
        "revision": next(_revisions),
    }  # fmt: skip
    await put(connection, "expected_runs", **fields | values)


async def alert(connection: asyncpg.Connection, created: datetime = MARCH, **values: Any) -> int:
    """An alert about an opened incident of orders, told at once; returns its id."""
    fields: dict[str, Any] = {
        "incident_id": uuid4(), "fingerprint": "f", "transition_no": 1, "transition": "opened", "severity": "fail",
        "pipeline": "orders", "kind": "failure", "owner": "sales", "payload": "{}", "created_at": created,
        "cause_at": created, "state": "sent", "sent_at": created,
    }  # fmt: skip
    found: int = await put(connection, "alert_outbox", **fields | values)
    return found


async def told(connection: asyncpg.Connection, at: datetime, *alerts: int, **values: Any) -> None:
    """One answer of a channel to a message that tells these alerts."""
    fields = {"attempted_at": at, "channel": "webhook", "outcome": "accepted"} | values
    for each in alerts:
        await put(connection, "alert_deliveries", alert_id=each, **fields)


async def advance(connection: asyncpg.Connection, effective: str, at: datetime, **values: Any) -> None:
    """Where the watermark of orders stands."""
    fields: dict[str, Any] = {
        "pipeline": "orders", "dataset": "", "kind": "timestamp", "watermark": effective, "effective": effective,
        "effective_at": at, "occurred_at": at, "event_id": name_id(effective), "regressed": False, "regressions": 0,
        "revision": next(_revisions),
    }  # fmt: skip
    await put(connection, "watermarks", **fields | values)


async def shown(connection: asyncpg.Connection, view: str, columns: str, where: str = "true") -> list[tuple[Any, ...]]:
    """The rows of a view in these columns, in order of the first."""
    statement = f"select {columns} from reporting.{view} where {where} order by 1"
    return [tuple(row) for row in await connection.fetch(statement)]
