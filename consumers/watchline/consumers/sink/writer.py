"""Storing a batch: all rows and the offsets in one transaction, or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import asyncpg
import structlog

from watchline.consumers.database import connect
from watchline.consumers.sink.ancestry import store_ancestry
from watchline.consumers.sink.classification import Decision, classify, sqlstate_of
from watchline.consumers.sink.commands import store_commands
from watchline.consumers.sink.dead_letters import store_dead_letters
from watchline.consumers.sink.expected_runs import store_expected_runs
from watchline.consumers.sink.findings import store_anomalies, store_watermarks
from watchline.consumers.sink.folding import FOLD
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.sink.incoming import Incoming, dead_letter
from watchline.consumers.sink.ingestion import store_pulses
from watchline.consumers.sink.lost_logs import end_orphans
from watchline.consumers.sink.offsets import Advance, Claim, Place, advance, take
from watchline.consumers.sink.pipelines import store_declarations, store_seen
from watchline.consumers.sink.run_rows import Meaning, RunRow
from watchline.consumers.sink.run_statements import SESSION
from watchline.consumers.sink.runs import edges_of, store_runs
from watchline.schemas.failpoints import failpoint
from watchline.schemas.records import (
    AnomalyRecord,
    CommandRecord,
    DeadLetter,
    ExpectedRunRecord,
    IncidentRecord,
    PipelineRecord,
    PulseRecord,
    WatermarkRecord,
)

log = structlog.get_logger(__name__)
CLOSE_SECONDS = 2.0
T = TypeVar("T", bound=Meaning)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records in the order of their offsets, and where each partition stands after them."""

    items: list[Incoming]
    advances: list[Advance]
    read_at: datetime


class Writer:
    """One connection to Postgres, opened when needed and thrown away after an infrastructure error.

    With a `connection` of the caller's, on which SESSION was run, it writes within its transaction, where its search
    path leads.
    """

    def __init__(
        self,
        dsn: str,
        *,
        log_epoch: int,
        alert_max_age: timedelta,
        command_timeout: float | None = None,
        connection: asyncpg.Connection | None = None,
    ) -> None:
        self._dsn = dsn
        self._log_epoch = log_epoch
        self._alert_max_age = alert_max_age
        self._command_timeout = command_timeout
        self._connection = connection

    async def claim(self, places: Iterable[Place], *, owner: str) -> dict[Place, Claim]:
        """Take over the partitions for `owner`."""
        return await take(await self._open(), places, log_epoch=self._log_epoch, owner=owner)

    async def store(self, batch: Batch) -> int:
        """Store the batch and return how many of its records Postgres refused and were dead-lettered.

        The offsets come first: their row locks make a successor wait for us, and FenceLost stops a batch that is not
        ours any more before anything is written. Raises what the database raised when the batch is not to blame.
        """
        connection = await self._open()
        async with connection.transaction():
            await advance(connection, batch.advances, log_epoch=self._log_epoch)
            failpoint("P2")  # offsets without rows are seen by nobody
            refused = await self._store_items(connection, batch.items, batch.read_at)
            failpoint("P3")  # all or nothing
            return refused

    async def fold(self, cells: int) -> int:
        """Count up to so many marked days of pipelines anew, all or none, and return how many that were."""
        connection = await self._open()
        async with connection.transaction(isolation="read_committed"):
            folded: int = await connection.fetchval(FOLD, cells)
            return folded

    async def reset(self) -> None:
        """Drop the connection; the next call opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.terminate()

    async def close(self) -> None:
        """Close the connection, politely when Postgres still answers."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it is being thrown away, and close() terminates when it fails
                await connection.close(timeout=CLOSE_SECONDS)

    async def _open(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            connection = await connect(self._dsn, application="watchline-sink", command_timeout=self._command_timeout)
            try:
                await connection.execute(SESSION)
            except BaseException:
                connection.terminate()
                raise
            self._connection = connection
        return self._connection

    async def _store_items(self, connection: asyncpg.Connection, items: list[Incoming], read_at: datetime) -> int:
        """Store the items behind a savepoint; when the data is to blame, halve until the one record is found."""
        try:
            async with connection.transaction():
                await self._store_tables(connection, items, read_at)
        except Exception as error:
            if classify(error) is not Decision.BISECT:
                raise
            if len(items) == 1:
                await self._bury(connection, items[0], error, read_at)
                return 1
        else:
            return 0
        half = len(items) // 2
        return await self._store_items(connection, items[:half], read_at) + await self._store_items(
            connection, items[half:], read_at
        )

    async def _store_tables(self, connection: asyncpg.Connection, items: list[Incoming], read_at: datetime) -> None:
        records = [item.record for item in items]
        runs = of_type(records, RunRow)
        await store_seen(connection, {one.pipeline for one in records if not isinstance(one, DeadLetter | PulseRecord)})
        await store_declarations(connection, of_type(records, PipelineRecord))
        await store_runs(connection, runs)
        await store_watermarks(connection, of_type(records, WatermarkRecord))
        await store_anomalies(connection, of_type(records, AnomalyRecord))
        await store_expected_runs(connection, of_type(records, ExpectedRunRecord))
        age = self._alert_max_age
        await store_incidents(connection, of_type(records, IncidentRecord), now=read_at, alert_max_age=age)
        commands = await end_orphans(connection, of_type(records, CommandRecord), now=read_at, alert_max_age=age)
        await store_commands(connection, commands)
        await store_dead_letters(connection, of_type(records, DeadLetter))
        await store_ancestry(connection, edges_of(runs))
        await store_pulses(connection, of_type(records, PulseRecord))

    async def _bury(self, connection: asyncpg.Connection, item: Incoming, error: Exception, read_at: datetime) -> None:
        state = sqlstate_of(error)
        constraint = getattr(error, "constraint_name", None)
        reason = ":".join(filter(None, ("refused_by_database", state, constraint)))
        detail = getattr(error, "message", None) or str(error)  # without the row that Postgres would quote
        letter = dead_letter(item.source, reason, detail, now=read_at, log_epoch=self._log_epoch)
        await store_dead_letters(connection, [letter], sqlstate=state)
        log.warning(
            "record.refused",
            topic=item.source.topic,
            partition=item.source.partition,
            offset=item.source.offset,
            sqlstate=state,
            constraint=constraint,
        )


def of_type(records: Iterable[Meaning], kind: type[T]) -> list[T]:
    return [record for record in records if isinstance(record, kind)]
