"""The connection that prunes: of its own, alone, and the first to give way."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from watchline.consumers import locks
from watchline.consumers.database import connect

TRY_LOCK = "select pg_try_advisory_lock($1)"
LOCK_MS, STATEMENT_SECONDS, COUNT_SECONDS = 100, 10, 300
# Its statements are made of look-ups by index. Hash and merge joins, or a scan of a whole table, would be a wrong guess
# of the planner, and kept plans would be those of other sizes. Locks are given up before the server looks for
# deadlocks (after a second), so that it is never the sink that it ends.
SESSION = """
set search_path = public;
set plan_cache_mode = force_custom_plan;
set enable_seqscan = off;
set enable_hashjoin = off;
set enable_mergejoin = off;
set jit = off;
set idle_in_transaction_session_timeout = '10s';
"""


@asynccontextmanager
async def session(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    """A connection that is closed at the end, whatever it was doing; errors as those of `connect`."""
    connection = await connect(dsn, application="watchline-prune", command_timeout=COUNT_SECONDS + 10)
    try:
        yield connection
    finally:
        connection.terminate()


async def begin(connection: asyncpg.Connection, *, statement_seconds: float = STATEMENT_SECONDS) -> None:
    """Make a connection fit for pruning or, with more time for a statement, for counting."""
    await connection.execute(
        f"{SESSION} set lock_timeout = {LOCK_MS}; set statement_timeout = {round(statement_seconds * 1000)}"
    )


async def is_alone(connection: asyncpg.Connection) -> bool:
    """Whether no other session prunes this database; until this one ends, none will."""
    return bool(await connection.fetchval(TRY_LOCK, locks.PRUNE))
