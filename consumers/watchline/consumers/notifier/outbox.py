"""The alerts in Postgres: claimed under a lease, and marked once somebody has heard of them.

All times are Postgres' own, so a clock that jumps here neither frees nor freezes an alert. `next_attempt_at`
is when a row next wants attention: a pending one its next attempt, a told one its reminder; infinity: never.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import structlog
from pydantic import ValidationError

from watchline.consumers.notifier import statements
from watchline.consumers.notifier.grouping import Alert, Group, Message
from watchline.consumers.notifier.route import Delivery
from watchline.consumers.watch.holding import hold_absence
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.records import IncidentRecord

CLAIM_LOCK = 0x77_6C_61_6C_65_72_74  # "wlalert": one notifier claims at a time, so a group has one sender
OPERATOR_CLASSES = ("28", "3D", "42")  # permission, database, schema: waiting won't help

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """Alerts that are ours while the lease lasts, when their groups were last told, and Postgres' time."""

    alerts: tuple[Alert, ...]
    last_sent: Mapping[Group, datetime]
    now: datetime | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """The outbox as one notifier, `holder`, sees it; errors are `Unavailable` or `Misconfigured`."""

    pool: asyncpg.Pool[asyncpg.Record]
    holder: str
    lease: timedelta
    group_interval: timedelta
    repeat_interval: timedelta
    give_up_after: timedelta

    async def claim(self, groups: int) -> Claim:
        """Take every alert of up to `groups` groups that are due and that nobody else holds."""
        async with self._transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock($1)", CLAIM_LOCK)
            await hold_absence(connection)
            rows = await connection.fetch(statements.CLAIM, self.holder, self.lease, groups)
            if not rows:
                return Claim((), {}, None)
            now: datetime = rows[0]["now"]
            pipelines = list({row["pipeline"] for row in rows})
            sent = await connection.fetch(statements.LAST_SENT, now - self.group_interval, pipelines)
        last_sent = {Group(row["pipeline"], row["owner"]): row["sent_at"] for row in sent}
        return Claim(tuple(alert_of(dict(row)) for row in rows), last_sent, now)

    async def renew(self, message: Message) -> bool:
        """Start the lease anew before sending; False when another notifier has taken over."""
        async with self._transaction() as connection:
            rows = await connection.fetch(statements.RENEW, message.alert_ids, self.holder, self.lease)
        return len(rows) == len(message.alerts)

    async def defer(self, waiting: Mapping[datetime, list[int]]) -> None:
        """Give back alerts that are due later."""
        async with self._transaction() as connection:
            await connection.executemany(statements.DEFER, [(ids, at, self.holder) for at, ids in waiting.items()])

    async def suppress(self, alert_ids: Sequence[int], reason: str) -> None:
        """Close alerts that nobody needs to hear."""
        async with self._transaction() as connection:
            await connection.execute(statements.SUPPRESS, list(alert_ids), reason, self.holder)

    async def release(self) -> None:
        """Give back whatever is still claimed."""
        async with self._transaction() as connection:
            await connection.execute(statements.RELEASE, self.holder)

    async def mark(self, message: Message, delivery: Delivery) -> list[str]:
        """Write down every attempt and what follows from the last one; returns the states of the alerts."""
        ids, error = message.alert_ids, _error(delivery)
        async with self._transaction() as connection:
            for attempt in delivery.attempts:
                outcome = attempt.outcome
                await connection.execute(
                    statements.RECORD, ids, attempt.channel, outcome.result, outcome.http_status, outcome.detail
                )
            if delivery.last.result == "accepted":
                incidents, still_open = _open_ends(message)
                await connection.execute(statements.MARK_SENT, ids, still_open, self.repeat_interval)
                await connection.execute(statements.END_REMINDERS, incidents)
                return ["sent"] * len(ids)
            wait = timedelta(seconds=delivery.wait)
            if delivery.last.result == "retry":
                rows = await connection.fetch(
                    statements.MARK_RETRY, ids, error, wait, self.give_up_after, self.repeat_interval
                )
            else:
                rows = await connection.fetch(statements.MARK_FAILED, ids, error, self.repeat_interval)
            return [row["state"] for row in rows]

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[asyncpg.pool.PoolConnectionProxy[asyncpg.Record]]:
        with translated():
            async with self.pool.acquire() as connection, connection.transaction():
                yield connection


@contextmanager
def translated() -> Iterator[None]:
    """Turn Postgres' errors into the decision that they call for."""
    try:
        yield
    except asyncpg.PostgresError as error:
        code = error.sqlstate or ""
        if code[:2] in OPERATOR_CLASSES:
            message = f"Postgres refuses the outbox: {error} ({code})"
            raise Misconfigured(message, hint="run watchline migrate") from error
        raise Unavailable(f"Postgres could not do it now: {error} ({code})") from error
    except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
        raise Unavailable(f"Postgres doesn't answer: {type(error).__name__}: {error}") from error


def alert_of(row: Mapping[str, Any]) -> Alert:
    """An alert from its row; from its columns when the payload can't be read: somebody has to hear of it."""
    try:
        incident = IncidentRecord.model_validate_json(row["payload"])
    except ValidationError as error:
        log.error("alert.unreadable", alert_id=row["alert_id"], errors=error.error_count())
        incident = _from_columns(row)
    # The columns are what groups are claimed by; a payload that says otherwise must not split one.
    incident = incident.model_copy(update={"pipeline": row["pipeline"], "owner": row["owner"]})
    return Alert(
        alert_id=row["alert_id"],
        incident=incident,
        created_at=row["created_at"],
        attempts=row["attempts"],
        told_at=row["told_at"],
        announced=row["announced"],
    )


def _from_columns(row: Mapping[str, Any]) -> IncidentRecord:
    names = IncidentRecord.model_fields.keys() & row.keys()
    return IncidentRecord(
        **{name: row[name] for name in names},
        revision=0,
        at=row["created_at"],
        opened_at=row["cause_at"],
        title=f"{row['kind']} incident, its details can't be read",
    )


def _open_ends(message: Message) -> tuple[list[UUID], list[int]]:
    """The incidents of a message, and of each that is still open the alert that will be repeated."""
    newest: dict[UUID, Alert] = {}
    for alert in sorted(message.alerts, key=lambda each: each.incident.transition_no):
        newest[alert.incident.incident_id] = alert
    still_open = [alert.alert_id for alert in newest.values() if alert.incident.transition != "resolved"]
    return list(newest), still_open


def _error(delivery: Delivery) -> str:
    outcome = delivery.last
    parts = [str(part) for part in (outcome.http_status, outcome.detail) if part is not None]
    return " ".join(parts) or outcome.result
