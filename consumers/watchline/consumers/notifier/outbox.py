"""The alerts in Postgres: claimed under a lease, and marked once somebody has heard of them.

All times are Postgres' own, so a clock that jumps here neither frees nor freezes an alert. `next_attempt_at`
is when a row next wants attention: a pending one its next attempt, a told one its reminder; infinity: never.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import asyncpg
import structlog

from watchline.consumers import locks
from watchline.consumers.notifier import statements, triage_statements
from watchline.consumers.notifier.alert import Alert, Group, Message, Storm
from watchline.consumers.notifier.grouping import Timing
from watchline.consumers.notifier.marking import mark_failed, mark_later, mark_sent
from watchline.consumers.notifier.reading import alert_of, post_of
from watchline.consumers.notifier.route import Delivery
from watchline.consumers.notifier.triage import Triage
from watchline.schemas.errors import Misconfigured, Unavailable

if TYPE_CHECKING:
    from watchline.consumers.notifier.marking import Connection

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
    timing: Timing
    give_up_after: timedelta
    triage: Triage

    async def prepare(self, destinations: Sequence[str]) -> dict[str, str]:
        """Find a new place for what belongs to none of `destinations`; the ids of channels that are known by name."""
        async with self._transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock($1)", locks.CLAIM)
            await connection.execute(triage_statements.FORGET_DESTINATIONS, list(destinations))
            rows = await connection.fetch(statements.CHANNEL_IDS, list(destinations))
        return {row["channel"]: row["channel_id"] for row in rows}

    async def claim(self, destination: str, groups: int, *, edits: bool) -> Claim:
        """Take every alert of up to `groups` groups of a destination that are due and that nobody else holds."""
        async with self._transaction() as connection:
            await connection.execute("select pg_advisory_xact_lock($1)", locks.CLAIM)
            await self.triage.decide(connection, destination, edits=edits)
            claimed = await connection.fetch(statements.CLAIM, self._as(destination), self.lease, groups, destination)
            if not claimed:
                return Claim((), {}, None)
            ids = [row["alert_id"] for row in claimed]
            rows = await connection.fetch(statements.ALERTS, ids)
            now: datetime = rows[0]["now"]
            sent = await connection.fetch(statements.LAST_SENT, now - self.timing.group_interval, destination, ids)
        last_sent = {Group(row["pipeline"], row["owner"], row["storm_id"]): row["sent_at"] for row in sent}
        return Claim(tuple(alert_of(dict(row)) for row in rows), last_sent, now)

    async def renew(self, message: Message, destination: str) -> bool:
        """Start the lease anew and note that it is being sent; False when another notifier has taken over."""
        async with self._transaction() as connection:
            rows = await connection.fetch(
                statements.RENEW, message.alert_ids, self._as(destination), self.lease, message.delivery
            )
        return len(rows) == len(message.alerts)

    async def complete(self, message: Message) -> Message:
        """The message with all that its post, or its digest, shows besides."""
        storm_id = message.alerts[0].storm_id
        async with self._transaction() as connection:
            if storm_id is not None:
                ids = await connection.fetch(statements.OF_STORM, storm_id)
                row = await connection.fetchrow(statements.STORM, storm_id)
                if row is not None:
                    storm = Storm(storm_id, row["began_at"], row["ended_at"])
                    message = replace(message, storm=storm, post=post_of(dict(row)))
            elif message.post is not None:
                ids = await connection.fetch(statements.OF_POST, message.post.channel_id, message.post.ts)
            else:
                return message
            rows = await connection.fetch(statements.ALERTS, [each["alert_id"] for each in ids])
        return replace(message, company=tuple(alert_of(dict(row)) for row in rows))

    async def defer(self, plan_waiting: Mapping[datetime, list[int]], refreshed: list[int], destination: str) -> None:
        """Give back alerts that are due later; `refreshed` are those whose post is brought up to date then."""
        async with self._transaction() as connection:
            rows = [(ids, at, self._as(destination), refreshed) for at, ids in plan_waiting.items()]
            await connection.executemany(statements.DEFER, rows)

    async def suppress(self, alert_ids: Sequence[int], reason: str, destination: str) -> None:
        """Close alerts that nobody needs to hear."""
        async with self._transaction() as connection:
            await connection.execute(statements.SUPPRESS, list(alert_ids), reason, self._as(destination))

    async def release(self, destination: str) -> None:
        """Give back whatever is still claimed."""
        async with self._transaction() as connection:
            await connection.execute(statements.RELEASE, self._as(destination))

    async def mark(self, message: Message, delivery: Delivery) -> list[str]:
        """Write down every attempt and what follows from the last one; returns the states of the alerts."""
        async with self._transaction() as connection:
            for attempt in delivery.attempts:
                outcome = attempt.outcome
                await connection.execute(
                    statements.RECORD,
                    message.alert_ids,
                    attempt.channel,
                    outcome.result,
                    outcome.http_status,
                    outcome.detail,
                )
            return await self._mark(connection, message, delivery)

    async def _mark(self, connection: Connection, message: Message, delivery: Delivery) -> list[str]:
        if delivery.last.result == "accepted":
            return await mark_sent(connection, message, delivery, self.timing.repeat_interval)
        if delivery.last.result == "retry":
            return await mark_later(connection, message, delivery, self.give_up_after, self.timing.repeat_interval)
        return await mark_failed(connection, message, delivery, self.timing.repeat_interval)

    def _as(self, destination: str) -> str:
        """Who holds what is claimed for a destination: the same process claims for several at once."""
        return f"{self.holder} {destination}"

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
