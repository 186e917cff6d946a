"""Putting the fresh tables in the place of the old ones, in one transaction that holds others up for a moment only."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

import asyncpg
import structlog

from watchline.consumers import locks
from watchline.consumers.rebuild.carrying import carry_late
from watchline.consumers.rebuild.fold import Fold
from watchline.consumers.rebuild.letters import end_numbers
from watchline.consumers.rebuild.reach import stood
from watchline.consumers.rebuild.structure import grant_as_before, use
from watchline.consumers.rebuild.tables import FRESH, MOVED, OLD, SPARE
from watchline.consumers.rebuild.views import point_at_public, readers
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.failpoints import failpoint

log = structlog.get_logger(__name__)
TRIES = 60
PAUSE_SECONDS = 1.0
# Shorter than a second, after which Postgres looks for deadlocks: whoever meets us in the middle is never the victim.
LOCK_TIMEOUT = "500ms"
SINK_TIMEOUT = "5s"  # a batch of the sink
REVISION = "select version_num from public.alembic_version"
FENCED = "update public.sink_offsets set fence = fence + 1 where log_epoch = $1"
BUSY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


async def swap(connection: asyncpg.Connection, fold: Fold, settings: SinkSettings, *, revision: str) -> float:
    """Swap as soon as nobody reads, and return for how many seconds readers and the sink had to wait.

    An attempt that has to wait gives way to those before it and is made again. Unavailable when somebody holds the
    tables for a minute, Misconfigured when they were migrated meanwhile.
    """
    for attempt in range(1, TRIES + 1):
        reached, began = dict(fold.reached), time.monotonic()
        try:
            async with connection.transaction():
                await swap_now(connection, fold, settings, revision=revision)
        except BUSY as error:
            fold.reached = reached  # what was folded in the attempt is undone with it
            log.info("swap.postponed", attempt=attempt, error=type(error).__name__)
            await asyncio.sleep(PAUSE_SECONDS)
        else:
            return time.monotonic() - began
    raise Unavailable(
        f"somebody has been reading the tables for {TRIES * PAUSE_SECONDS:.0f} s without a pause",
        hint="`select pid, usename, query from pg_stat_activity` shows who; the old tables are in force",
    )


async def swap_now(connection: asyncpg.Connection, fold: Fold, settings: SinkSettings, *, revision: str) -> None:
    """All of the swap, in the caller's transaction. The sink waits from the first lock on, readers from the second."""
    topics = settings.topics.outputs
    await hold_migrations(connection, revision)
    await connection.execute(f"set local lock_timeout = '{SINK_TIMEOUT}'")
    await connection.execute("lock table public.sink_offsets in share row exclusive mode")
    await fold.up_to(await stood(connection, topics, log_epoch=settings.log_epoch))
    await connection.execute(f"set local lock_timeout = '{LOCK_TIMEOUT}'")
    views = await readers(connection)
    await lock(connection, views)
    await carry_late(connection, topics)
    await end_numbers(connection)
    await exchange(connection, views)
    # A sink joins anew when its fence is lost; what it had in hand stands behind the offsets and is read again.
    await connection.execute(FENCED, settings.log_epoch)
    failpoint("R3")  # all or nothing


async def hold_migrations(connection: asyncpg.Connection, revision: str) -> None:
    """Keep migrations out until the transaction ends; Misconfigured when there was one since `revision`."""
    free = await connection.fetchval("select pg_try_advisory_xact_lock($1)", locks.MIGRATIONS)
    if not free or await connection.fetchval(REVISION) != revision:
        raise Misconfigured("the tables are being migrated, or were since this began", hint="rebuild once more")


async def lock(connection: asyncpg.Connection, views: Iterable[asyncpg.Record]) -> None:
    """Wait until nobody reads: the views first, for a reader holds its view and then waits for the tables."""
    for view in views:
        await connection.execute(f"alter view {view['name']} owner to {view['owner']}")  # changes nothing, but locks
    names = ", ".join(f"public.{name}" for name in MOVED)
    await connection.execute(f"lock table {names} in access exclusive mode")


async def exchange(connection: asyncpg.Connection, views: list[asyncpg.Record]) -> None:
    """The old tables to OLD, the fresh ones to `public`; whoever could use them still can."""
    await grant_as_before(connection)
    await connection.execute(f"drop schema if exists {OLD} cascade; create schema {OLD}")
    for name in MOVED:
        await connection.execute(f"alter table public.{name} set schema {OLD}")
    for name in MOVED:
        await connection.execute(f"alter table {FRESH}.{name} set schema public")
    await use(connection, "pg_catalog")
    await point_at_public(connection, views)
    await connection.execute(f"drop schema {FRESH}, {SPARE} cascade")
