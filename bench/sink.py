"""Rows a second of the sink's write path into a durable Postgres, against plain COPY in the same run.

    python -m bench.sink [--rows 50000] [--batch 5000] [--rounds 3] [--json] [--profile]

Every round measures all of these one after another, so that they share the machine's moods; medians are reported.
COPY puts the same tuples into a table with the columns and indexes of `runs`, one transaction per batch. `new runs`
is the whole write path of finished runs: merge, look-up, COPY, offsets, commit. `with decoding` begins with the bytes
that Kafka carries, each batch decoded while the one before is stored, as the service does. `start and end` has both
records of a run in one batch; `ends of known runs` updates rows.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import logging
import os
import pstats
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import asyncpg
import structlog
from rich.console import Console
from rich.table import Table

from bench.parts import SINK_BUDGET
from bench.storing import NOON, WritePath, decoded, raws_of
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.consumers.migrations import migrate
from watchline.consumers.sink.run_rows import row_from
from watchline.consumers.sink.run_statements import COLUMNS
from watchline.consumers.sink.runs import row_of
from watchline.schemas.records import RunRecord

PIPELINES = 500
DURABLE = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "max_wal_size": "4GB"}


def run_id(number: int) -> UUID:
    """A UUID whose order is that of the numbers, as version 7 makes them."""
    return UUID(int=(0x0197_A1B2_0000_7000 + number) << 64 | 0x8000 << 48 | number)


def started(number: int) -> RunRecord:
    return RunRecord(
        pipeline=f"pipeline_{number % PIPELINES:04}",
        revision=2 * number + 1,
        run_id=run_id(number),
        attempt=1,
        started_at=NOON + timedelta(seconds=number),
        backfill=False,
        watermark="2026-11-29",
        labels_started={"team": "sales", "stage": "prod"},
        producer_host="etl-7.example.org",
    )


def ended(number: int) -> RunRecord:
    return RunRecord(
        pipeline=f"pipeline_{number % PIPELINES:04}",
        revision=2 * number + 2,
        run_id=run_id(number),
        attempt=1,
        started_at=NOON + timedelta(seconds=number),
        backfill=False,
        watermark="2026-11-29",
        next_watermark="2026-11-30",
        status="succeeded",
        end_event_id=run_id(number + 1),
        ended_at=NOON + timedelta(seconds=number + 300.25),
        duration_seconds=300.25 + number % 60,
        inserts=1000 + number,
        updates=number % 7,
        deletes=0,
        total_rows=1_000_000 + number,
        throughput=3.5,
        metrics={"null_share": 0.25},
        labels_started={"team": "sales", "stage": "prod"},
        labels_ended={"result": "ok"},
        producer_host="etl-7.example.org",
    )


class Bench:
    """The write path and a plain connection on one database."""

    def __init__(self, dsn: str, *, rows: int, batch: int) -> None:
        self.rows, self.batch = rows, batch
        self.path = WritePath(dsn, batch=batch)
        self.dsn = dsn
        starts, ends = [started(number) for number in range(rows)], [ended(number) for number in range(rows)]
        self.rows_to_copy = [row_from(record) for record in ends]
        self.starts, self.ends = decoded(starts), decoded(ends)
        self.end_bytes = raws_of(ends)
        self.all_bytes = raws_of(record for pair in zip(starts, ends, strict=True) for record in pair)

    async def open(self) -> None:
        self.connection = await asyncpg.connect(self.dsn)
        await self.connection.execute("create table copied (like runs including all)")
        await self.path.open()
        gc.freeze()  # our own records to measure with would slow down every collection, and a sink holds one batch

    async def close(self) -> None:
        await self.connection.close()
        await self.path.close()

    async def empty(self, *, known: bool = False) -> None:
        """Empty tables, or the starts of all runs in them; what the last measurement left to write is written."""
        await self.connection.execute("truncate runs, copied, pipelines, pipeline_days, pipeline_weeks, stale_days")
        if known:
            await self.path.store(self.starts)
        await self.connection.execute("vacuum analyze runs")
        await self.connection.execute("checkpoint")

    async def copy(self) -> None:
        """Plain COPY of the finished runs."""
        for first in range(0, self.rows, self.batch):
            rows = map(row_of, self.rows_to_copy[first : first + self.batch])
            await self.connection.copy_records_to_table("copied", records=rows, columns=COLUMNS)


Measured = tuple[str, bool, Callable[[Bench], Awaitable[None]]]
MEASURED: tuple[Measured, ...] = (
    ("plain COPY", False, lambda bench: bench.copy()),
    ("new runs", False, lambda bench: bench.path.store(bench.ends)),
    ("new runs, with decoding", False, lambda bench: bench.path.store_bytes(bench.end_bytes)),
    ("start and end in one batch, with decoding", False, lambda bench: bench.path.store_bytes(bench.all_bytes)),
    ("ends of known runs", True, lambda bench: bench.path.store(bench.ends)),
    ("ends of known runs, with decoding", True, lambda bench: bench.path.store_bytes(bench.end_bytes)),
)


@dataclass(frozen=True, slots=True)
class Pass:
    """One measurement: rows a second, and the CPU of our own process per row (Postgres's comes on top)."""

    rows_per_second: float
    cpu_microseconds: float


async def measure(dsn: str, *, rows: int, batch: int, rounds: int) -> dict[str, list[Pass]]:
    """Every measurement of `MEASURED` once a round; the first round is thrown away."""
    await migrate(dsn)
    bench = Bench(dsn, rows=rows, batch=batch)
    await bench.open()
    figures: dict[str, list[Pass]] = {name: [] for name, _, _ in MEASURED}
    for turn in range(rounds + 1):
        for name, known, work in MEASURED:
            await bench.empty(known=known)
            began, cpu = time.perf_counter(), time.process_time()
            await work(bench)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            if turn:
                figures[name].append(Pass(rows / seconds, cpu / rows * 1e6))
    await bench.close()
    return figures


async def profile(dsn: str, *, rows: int, batch: int) -> None:
    """Where the process spends its time while it stores new runs from bytes; Postgres's share is the waiting."""
    await migrate(dsn)
    bench = Bench(dsn, rows=rows, batch=batch)
    await bench.open()
    await bench.empty()
    profiler = cProfile.Profile()
    profiler.enable()
    await bench.path.store_bytes(bench.end_bytes)
    profiler.disable()
    await bench.close()
    pstats.Stats(profiler).sort_stats("tottime").print_stats(18)


def speed(passes: list[Pass]) -> float:
    return statistics.median(one.rows_per_second for one in passes)


def show(figures: dict[str, list[Pass]], *, rows: int, batch: int) -> None:
    copy = speed(figures["plain COPY"])
    table = Table(
        title=f"sink: run rows a second, {rows:,} rows, batches of {batch:,}, fsync on, {os.cpu_count()} CPUs"
    )
    for heading in ("what", "median", "range", "of COPY", "CPU µs", f"budget {SINK_BUDGET:,}"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, passes in figures.items():
        median, values = speed(passes), [one.rows_per_second for one in passes]
        cpu = statistics.median(one.cpu_microseconds for one in passes)
        met = "" if name == "plain COPY" else "met" if median >= SINK_BUDGET else "missed"
        spread = f"{min(values):,.0f} to {max(values):,.0f}"
        table.add_row(name, f"{median:,.0f}", spread, f"{median / copy:.0%}", f"{cpu:.1f}", met)
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--batch", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as a table")
    parser.add_argument("--profile", action="store_true", help="profile one pass instead")
    chosen = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with (
        tempfile.TemporaryDirectory(prefix="watchline-bench-") as folder,
        EmbeddedPostgres(Path(folder) / "postgres", settings=DURABLE) as postgres,
    ):
        if chosen.profile:
            asyncio.run(profile(postgres.dsn, rows=chosen.rows, batch=chosen.batch))
            return
        figures = asyncio.run(measure(postgres.dsn, rows=chosen.rows, batch=chosen.batch, rounds=chosen.rounds))
    if chosen.json:
        print(json.dumps({name: speed(passes) for name, passes in figures.items()}))
    else:
        show(figures, rows=chosen.rows, batch=chosen.batch)


if __name__ == "__main__":
    main()
