"""Memory of a pipeline in a streams worker, and bytes that one run adds to the changelog.

    python -m bench.memory [--pipelines 20000] [--rounds 3] [--json]

Rows are made by the folds of the streams from the start and the end of each run, with all six metrics, until they
grow no more. Every round is a process of its own: its resident memory (RSS) before and after it holds the three table
rows of every pipeline, the declarations as they are cached, the desk with the deadlines, and the partition of every
name. Faust's own dictionaries of bytes are plain ones, so plain ones stand for them.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from bench.figures import Figure
from bench.jobs import PRODUCER, end_of, start_of
from bench.report import show
from watchline.schemas import PipelineDeclared, WatermarkAdvanced
from watchline.schemas.declaration import Freshness, Schedule, Timeliness
from watchline.streams.declarations import UNDECLARED
from watchline.streams.folders import DeclarationsFolder, WatermarksFolder
from watchline.streams.instants import to_micros
from watchline.streams.intake import Homes, Intake, Taken
from watchline.streams.runs.desk import BatchFold, Desk, Rhythm, Tables
from watchline.streams.runs.fold import RunsEvent
from watchline.streams.transport import StateTable

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PARTITIONS = 8
RUNS = 100  # from the 80th on a row has its full size: baselines, newest runs and digests are all cut
SAMPLES = 500
KIB = 1024
MEMORY_KIB, CHANGELOG_KIB = 8, 4
RHYTHM = Rhythm(pulse=5, settle=0, epoch=0)
NOBODY = UUID(int=0)

Rows = dict[bytes, bytes]


@dataclass
class Held:
    """What stands for a Faust table: the folds read nothing but its `data`."""

    data: Rows = field(default_factory=dict)

    def as_table(self) -> StateTable:
        return cast(StateTable, self)


def name_of(number: int) -> str:
    return f"warehouse.pipeline_{number:06d}"


def fold_runs(number: int, *, together: bool) -> tuple[bytes, list[int]]:
    """The row of a pipeline after `RUNS` hourly runs, and the sizes of all that was written on the way.

    `together`: both events of a run come in one batch, as in a backlog; else each is written by itself.
    """
    rows: Rows = {}
    desk, written, key = Desk(number % PARTITIONS), [], name_of(number).encode()
    for run in range(RUNS):
        at = NOON - timedelta(hours=RUNS - run)
        run_id = UUID(int=(0x0197_A1B2_0000_7000 + run) << 64 | 0x8000 << 48 | hash((number, run)) & 0xFFFF_FFFF_FFFF)
        events: list[RunsEvent] = [
            start_of(name_of(number), run_id, at),
            end_of(name_of(number), run_id, at, number + run),
        ]
        taken = [Taken(2 * run + place, key, event) for place, event in enumerate(events)]
        for batch in [taken] if together else [[one] for one in taken]:
            fold = BatchFold(desk, Tables(rows.get, lambda _: UNDECLARED, lambda _: ()), RHYTHM)
            changed = fold.take(batch, now=to_micros(at))
            written += [len(key) + len(row) for key, row in changed.items()]
            rows |= changed
    return rows[key], written


def declaration_of(number: int) -> PipelineDeclared:
    """What a pipeline that is watched in every way declares."""
    return PipelineDeclared(
        event_id=NOBODY,
        occurred_at=NOON,
        pipeline=name_of(number),
        producer=PRODUCER,
        type="warehouse",
        owner="sales",
        tags=("daily", "warehouse"),
        freshness=Freshness(max_age_seconds=7200),
        timeliness=Timeliness(max_duration_seconds=3600),
        schedule=Schedule(cron="0 * * * *", timezone="Europe/Berlin"),
        config_hash="0" * 64,
    )


def watermark_of(number: int) -> WatermarkAdvanced:
    at = NOON - timedelta(hours=1)
    return WatermarkAdvanced(
        event_id=NOBODY, occurred_at=at, pipeline=name_of(number), watermark="2026-11-30", kind="text", run_id=NOBODY
    )


@dataclass
class Worker:
    """The memory of a streams worker, without Faust and its buffers."""

    runs: Held = field(default_factory=Held)
    declarations: Held = field(default_factory=Held)
    watermarks: Held = field(default_factory=Held)
    homes: Homes = field(default_factory=lambda: Homes(PARTITIONS))
    desks: list[Desk] = field(default_factory=lambda: [Desk(number) for number in range(PARTITIONS)])

    def __post_init__(self) -> None:
        self.declared = DeclarationsFolder(self.declarations.as_table(), epoch=0, wake=lambda *_: None)
        self.marked = WatermarksFolder(self.watermarks.as_table(), epoch=0, wake=lambda *_: None)

    def add_rows(self, pipelines: int, samples: list[bytes]) -> None:
        """A row of runs, of its own in memory, for every pipeline."""
        for number in range(pipelines):
            key, _ = self.homes.of(name_of(number))
            self.runs.data[key] = bytes(bytearray(samples[number % len(samples)]))

    def add_declarations(self, pipelines: int) -> None:
        """The declaration of every pipeline, and what of it is cached."""
        for number in range(pipelines):
            key, partition = self.homes.of(name_of(number))
            rows, _ = self.declared.fold(Intake({partition: [Taken(0, key, declaration_of(number))]}), now=0)
            self.declarations.data |= rows[partition]
            self.declared.declared(key)

    def add_watermarks(self, pipelines: int) -> None:
        """The watermark of every pipeline."""
        for number in range(pipelines):
            key, partition = self.homes.of(name_of(number))
            rows, _ = self.marked.fold(Intake({partition: [Taken(0, key, watermark_of(number))]}), now=0)
            self.watermarks.data |= rows[partition]

    def wake_desks(self) -> None:
        """A pulse: every desk looks for the deadlines of its pipelines and keeps them."""
        keys: list[list[bytes]] = [[] for _ in self.desks]
        for number, key in enumerate(self.runs.data):
            keys[number % PARTITIONS].append(key)
        tables = Tables(self.runs.data.get, self.declared.declared, lambda partition: keys[partition])
        for desk in self.desks:
            pulse = Taken(10_000, b"", None, to_micros(NOON - timedelta(hours=1)))
            BatchFold(desk, tables, RHYTHM).take([pulse], now=to_micros(NOON))


def measure_here(pipelines: int) -> dict[str, float]:
    """KiB a pipeline of this process: the rows of runs, and all."""
    samples = [fold_runs(number, together=True)[0] for number in range(min(SAMPLES, pipelines))]
    worker = Worker()
    before = resident()
    worker.add_rows(pipelines, samples)
    rows = resident() - before
    worker.add_declarations(pipelines)
    worker.add_watermarks(pipelines)
    worker.wake_desks()
    return {"rows": rows / pipelines / KIB, "all": (resident() - before) / pipelines / KIB}


def resident() -> int:
    """Bytes of this process in memory."""
    gc.collect()
    pages = Path("/proc/self/statm")
    if pages.exists():
        return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, text=True, check=True)
    return int(found.stdout) * KIB  # no /proc on macOS


def measure(pipelines: int, rounds: int) -> list[Figure]:
    """Both budgets; memory in a process per round, changelog bytes from a few pipelines."""
    command = [sys.executable, "-m", "bench.memory", "--child", "--pipelines", str(pipelines)]
    found = []
    for _ in range(rounds):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout))
    return [
        Figure("memory per pipeline, six baselines", "KiB", tuple(one["all"] for one in found), MEMORY_KIB),
        Figure("– of it the rows of runs", "KiB", tuple(one["rows"] for one in found)),
        changelog("changelog per run, start and end in batches of their own", together=False),
        changelog("changelog per run, both in one batch", together=True),
    ]


def changelog(what: str, *, together: bool) -> Figure:
    """Key and row of every write of one run, uncompressed and without Kafka's own bytes, once rows have grown up."""
    sizes = []
    for number in range(5):
        _, written = fold_runs(number, together=together)
        writes = len(written) // RUNS
        sizes.append(sum(written[-writes:]) / KIB)
    return Figure(what, "KiB", tuple(sizes), CHANGELOG_KIB)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pipelines", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as a table")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options: Any = parser.parse_args()
    if options.child:
        print(json.dumps(measure_here(options.pipelines)))
        return
    show("memory", measure(options.pipelines, options.rounds), as_json=options.json)


if __name__ == "__main__":
    main()
