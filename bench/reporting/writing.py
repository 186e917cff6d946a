"""The sink's rate into the filled database, against its rate into an empty one on the same server, in turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from time import perf_counter
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg

from bench.figures import Figure
from bench.reporting.size import Size, name_of
from bench.sink import ended, started
from bench.storing import WritePath, decoded
from watchline.consumers.database import connect
from watchline.consumers.migrations import migrate
from watchline.consumers.sink.incoming import Incoming
from watchline.schemas.records import RunRecord

EMPTY = "watchline_bench_empty"
BATCH = 5_000
SHARE = 0.9  # of the rate into an empty database; less is a budget missed
WAYS = ("new runs", "ends of known runs")
TABLES = "select tablename from pg_tables where schemaname = 'public' and tablename <> all($1)"
KEPT = ["alembic_version", "sink_offsets", "pipelines"]


@dataclass(frozen=True, slots=True)
class Wave:
    """The runs of one measurement: of the pipelines that the database is full of, and now, as those of a sink are."""

    size: Size
    now: datetime
    turn: int
    rows: int

    def starts(self) -> list[RunRecord]:
        return [self._placed(started(number), number) for number in self._numbers]

    def ends(self) -> list[RunRecord]:
        return [self._placed(ended(number), number) for number in self._numbers]

    @property
    def _numbers(self) -> range:
        return range(self.turn * self.rows, (self.turn + 1) * self.rows)

    def _placed(self, record: RunRecord, number: int) -> RunRecord:
        at = self.now + timedelta(milliseconds=number)
        pipeline = name_of(int(self.size.pipelines * Random(number).random() ** 2))
        ended_at = record.ended_at and at + timedelta(seconds=record.duration_seconds or 0)
        change = {"pipeline": pipeline, "run_id": run_id(at.timestamp(), number), "started_at": at}
        return record.model_copy(update={**change, "ended_at": ended_at})


def run_id(seconds: float, number: int) -> UUID:
    """A UUID of version 7 of that time."""
    return UUID(int=int(seconds * 1000) << 80 | 0x7000 << 64 | 0x8000 << 48 | number)


class Side:
    """One of the two databases, and the seconds that it has taken since `begin`."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._path = WritePath(dsn, batch=BATCH)
        self.seconds = 0.0

    async def open(self) -> None:
        await self._path.open()
        self._connection = await connect(self._dsn, application="watchline-bench")

    async def close(self) -> None:
        await self._connection.close()
        await self._path.close()

    async def empty(self) -> None:
        """Take out everything but the names of the pipelines."""
        tables = [row["tablename"] for row in await self._connection.fetch(TABLES, KEPT)]
        await self._connection.execute(f"truncate {', '.join(tables)} cascade")
        await self._connection.execute("vacuum analyze runs")

    async def begin(self, known: list[Incoming]) -> None:
        """Store what has to be known before, and start the clock."""
        await self._path.store(known)
        self.seconds = 0.0

    async def store(self, batch: list[Incoming]) -> None:
        began = perf_counter()
        await self._path.store(batch)
        self.seconds += perf_counter() - began


async def measure(dsn: str, size: Size, *, rows: int, rounds: int, tell: Callable[[str], None]) -> list[Figure]:
    """The rates of every way and their ratios; the first round is thrown away."""
    await make_empty(dsn)
    now = datetime.now(UTC)
    rates: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    async with opened(Side(dsn)) as filled, opened(Side(beside(dsn))) as empty:
        for turn in range(rounds + 1):
            tell(f"the sink, round {turn} of {rounds}")
            for place, way in enumerate(WAYS):
                wave = Wave(size, now, len(WAYS) * turn + place, rows)
                await empty.empty()
                await alternate(filled, empty, wave, known=way != WAYS[0])
                if turn:
                    rates[way].append((rows / filled.seconds, rows / empty.seconds))
    return [figure for way, pairs in rates.items() for figure in figures_of(way, pairs)]


async def alternate(filled: Side, empty: Side, wave: Wave, *, known: bool) -> None:
    """Store every batch in both databases, in either order, before the next: so the machine's moods hit both."""
    starts = decoded(wave.starts()) if known else []
    ends = decoded(wave.ends())
    for side in (filled, empty):
        await side.begin(starts)
    for place, first in enumerate(range(0, len(ends), BATCH)):
        for side in (filled, empty) if place % 2 else (empty, filled):
            await side.store(ends[first : first + BATCH])


def figures_of(way: str, pairs: list[tuple[float, float]]) -> list[Figure]:
    """The rate at size, and what share it is of that into an empty database of the same round."""
    share = tuple(filled / empty for filled, empty in pairs)
    rates = tuple(filled for filled, _ in pairs)
    return [
        Figure(f"sink at size: {way}", "rows/s", rates),
        Figure(f"– {way}, against an empty database", "times", share, SHARE, at_least=True),
    ]


@asynccontextmanager
async def opened(side: Side) -> AsyncIterator[Side]:
    await side.open()
    try:
        yield side
    finally:
        await side.close()


async def make_empty(dsn: str) -> None:
    """A migrated database without rows beside the one of `dsn`."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(f"drop database if exists {EMPTY} with (force)")
        await connection.execute(f"create database {EMPTY}")
    finally:
        await connection.close()
    await migrate(beside(dsn))


def beside(dsn: str) -> str:
    """The address of the empty database on the same server."""
    return urlsplit(dsn)._replace(path=f"/{EMPTY}").geturl()
