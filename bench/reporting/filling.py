"""Filling a fresh database as the sink would have filled it in the time before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import asyncpg

from bench.reporting.closing_statements import CLOSING, LETTERS, SEEN
from bench.reporting.days import count_days
from bench.reporting.declarations import declared
from bench.reporting.run_statements import CHUNK, NUMBERED, OF_CHUNK, functions
from bench.reporting.size import Size
from watchline.consumers.database import connect
from watchline.consumers.migrations import migrate
from watchline.consumers.sink.pipelines import store_declarations, store_seen

CHUNK_RUNS = 100_000
# Nobody is told that a chunk is stored, so nothing is lost when it was not.
SESSION = """
set work_mem = '256MB';
set maintenance_work_mem = '256MB';
set synchronous_commit = off;
set jit = off
"""
Tell = Callable[[int], None]


async def fill(dsn: str, size: Size, *, tell: Tell) -> None:
    """Migrate the database and fill every table; `tell` hears how many runs there are so far."""
    await migrate(dsn)
    connection = await connect(dsn, application="watchline-bench")
    try:
        await connection.execute(SESSION)
        await fill_tables(connection, size, tell)
        await settle(connection)
    finally:
        await connection.close()


async def fill_tables(connection: asyncpg.Connection, size: Size, tell: Tell) -> None:
    """Declarations by the sink's own functions, then runs by chunks, then what follows from them."""
    records = list(declared(size))
    async with connection.transaction():
        await store_seen(connection, {record.pipeline for record in records})
        for first in range(0, len(records), 1000):
            await store_declarations(connection, records[first : first + 1000])
        await connection.execute(SEEN)
    await connection.execute(functions(size))
    await connection.execute(NUMBERED)
    for first, after in chunks_of(size):
        await add_chunk(connection, first, after)
        tell(after)
        if after == size.folded_runs:
            await count_days(connection)
    for statement in CLOSING:
        await connection.execute(statement)
    await connection.execute(LETTERS, size.runs)


def chunks_of(size: Size) -> Iterator[tuple[int, int]]:
    """From where to where each chunk goes; the last one is what stays unfolded."""
    for first in range(0, size.folded_runs, CHUNK_RUNS):
        yield first, min(first + CHUNK_RUNS, size.folded_runs)
    yield size.folded_runs, size.runs


async def add_chunk(connection: asyncpg.Connection, first: int, after: int) -> None:
    """The runs from `first` up to `after`, and what comes with each of them."""
    async with connection.transaction():
        await connection.execute("truncate chunk")
        await connection.execute(CHUNK, first, after)
        for statement in OF_CHUNK:
            await connection.execute(statement)


async def settle(connection: asyncpg.Connection) -> None:
    """Do what Postgres would have done by itself in all that time."""
    await connection.execute("vacuum (analyze)")
    await connection.execute("checkpoint")
