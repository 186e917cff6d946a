"""Passes of retention over a test's database, as the role of the sink and at a time of the test's own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from sinking.tables import Sinking
from stack.contents import rows, value
from watchline.consumers.retention.choosing import count
from watchline.consumers.retention.plan import Plan, chosen_tables
from watchline.consumers.retention.pruning import BATCH, Outcome, Pruner
from watchline.consumers.retention.session import begin, session
from watchline.consumers.retention.settings import RetentionSettings

# Past: the views look at the clock of the database.
NOW = datetime(2026, 1, 10, 5, 30, tzinfo=UTC)
SETTINGS = RetentionSettings()
CUTOFFS = SETTINGS.cutoffs(NOW)
RUNS, HISTORY = CUTOFFS["runs"], CUTOFFS["commands"]  # 400 and 90 days before
TICK = timedelta(microseconds=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Passes:
    """Counts and prunes; `dsn` is a member of watchline_writer, `sinking` stores as the sink does."""

    dsn: str
    sinking: Sinking
    now: datetime = NOW

    def plan(self, tables: Iterable[str] = (), **days: int) -> Plan:
        return Plan(self.now, SETTINGS.cutoffs(self.now, **days), chosen_tables(tables))

    async def count(self, tables: Iterable[str] = ()) -> Counter[str]:
        async with session(self.dsn) as connection:
            await begin(connection)
            return await count(connection, self.plan(tables))

    async def prune(self, tables: Iterable[str] = (), *, batch: int = BATCH) -> Outcome:
        async with session(self.dsn) as connection:
            await begin(connection)
            return await Pruner(connection, self.plan(tables), asyncio.Event(), batch=batch).prune()

    @property
    def looking(self) -> asyncpg.Connection:
        return self.sinking.connection

    async def rows(self, query: str, *arguments: object) -> list[tuple[Any, ...]]:
        return await rows(self.sinking.dsn, query, *arguments)

    async def value(self, query: str, *arguments: object) -> Any:
        return await value(self.sinking.dsn, query, *arguments)
