"""Deleting what has grown old: short batches, each a transaction, with rests between them.

A batch that would have to wait for somebody gives way and is tried again; what stays in use is left to the next pass.
It may stop or be killed anywhere: each batch is whole, and the next pass finds what is left.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import asyncpg
import structlog

from watchline.consumers.backoff import backoff
from watchline.consumers.pause import pause
from watchline.consumers.retention.choosing import Columns, chunks_of, delete
from watchline.consumers.retention.horizon import note_kept_from, note_pruned
from watchline.consumers.retention.plan import Plan
from watchline.consumers.retention.rules import Rule

log = structlog.get_logger(__name__)
BATCH = 1000
TRIES, TRIES_MORE = 6, 2  # of a batch, and of one when the table could not be finished any more
LEAST_REST, FIRST_WAIT, LONGEST_WAIT = 0.02, 0.1, 2.0  # seconds
IN_USE = (
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,  # the statement took too long
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)


@dataclass(slots=True)
class Outcome:
    """How many rows went, by table, and the tables that could not be finished, because others use their rows."""

    deleted: Counter[str] = field(default_factory=Counter)
    left: set[str] = field(default_factory=set)


Heard = Callable[[str, Outcome], None]


def unheard(table: str, outcome: Outcome) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class Pruner:
    """One pass over the tables of a plan; ends early, between two batches, once `stop` is set."""

    connection: asyncpg.Connection
    plan: Plan
    stop: asyncio.Event
    batch: int = BATCH
    heard: Heard = unheard  # called after every batch
    outcome: Outcome = field(default_factory=Outcome)

    async def prune(self) -> Outcome:
        """Delete what the plan no longer keeps. Raises what the database raises, unless rows are in use."""
        for table in self.plan.tables:
            if not self.stop.is_set():
                await self._prune_table(table)
        return self.outcome

    async def _prune_table(self, table: str) -> None:
        """The horizon is committed before anything goes, and the end is noted only when it was reached."""
        before = self.outcome.deleted.total()
        await note_kept_from(self.connection, table, kept_from=self.plan.cutoffs[table], now=self.plan.now)
        for rule in self.plan.rules(table):
            try:
                async for chunk in chunks_of(self.connection, rule, self.plan):
                    await self._exhaust(rule, chunk)
                    if self.stop.is_set():
                        return
            except IN_USE as error:
                self._leave(rule, error)
        if table not in self.outcome.left:
            deleted = self.outcome.deleted.total() - before
            await note_pruned(self.connection, table, deleted=deleted, now=self.plan.now)

    async def _exhaust(self, rule: Rule, chunk: Columns) -> None:
        """Delete batch by batch; what others hold was skipped, so a batch that is not full is the last one."""
        failures = 0
        while not self.stop.is_set():
            limit = max(1, self.batch >> failures)
            began = time.monotonic()
            try:
                chosen, deleted = await delete(self.connection, rule, self.plan, chunk, limit=limit)
            except IN_USE as error:
                failures += 1
                if failures == (TRIES if rule.table not in self.outcome.left else TRIES_MORE):
                    self._leave(rule, error)
                    return
                log.info("prune.gave_way", table=rule.table, error=type(error).__name__, failures=failures)
                await pause(self.stop, backoff(failures, 0.5, first=FIRST_WAIT, longest=LONGEST_WAIT))
                continue
            failures = 0
            self.outcome.deleted.update(deleted)
            if deleted.total():
                self.heard(rule.table, self.outcome)
                await pause(self.stop, rest(time.monotonic() - began))
            if chosen < limit or not deleted.total():
                return

    def _leave(self, rule: Rule, error: Exception) -> None:
        self.outcome.left.add(rule.table)
        log.warning("prune.left_rows", table=rule.table, error=type(error).__name__, detail=str(error)[:200])


def rest(worked: float) -> float:
    """Seconds that the server belongs to others after a batch: as many as that took."""
    return max(LEAST_REST, worked)
