"""How fast the views of `reporting` answer with millions of runs, and whether the sink keeps its rate there.

    python -m bench.reporting [--runs 2000000] [--pipelines 5000] [--repeats 5] [--rounds 5] [--keep DIR] [--json]

A fresh embedded Postgres, durable as in bench.sink, is filled with 400 days of runs up to now and all that comes with
them. Then every view is asked as an analyst's login would: an aggregate and the first hundred rows, newest first, by
a typical pipeline, by the busiest one, by the last whole month, by the last day, and by what else suits the view.
EXPLAIN tells whether that reads `runs` from end to end. At last the sink writes there and into an empty database, in
turns. With `--keep` the data stay in DIR, and the next call finds them; each call then adds the runs that the sink
wrote.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench.figures import Figure
from bench.report import console, show
from bench.reporting.answers import figures_of, table_of
from bench.reporting.asking import Answer, ask_all
from bench.reporting.filling import fill
from bench.reporting.size import Size
from bench.reporting.writing import measure
from bench.sink import DURABLE
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.schemas.errors import Misconfigured

SIZE_FILE = "size.json"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.reporting", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2_000_000)
    parser.add_argument("--pipelines", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5, help="of every query")
    parser.add_argument("--rows", type=int, default=50_000, help="that the sink writes in a round")
    parser.add_argument("--rounds", type=int, default=5, help="of the sink; 0: only the views")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where the data are, or are to stay")
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as tables")
    return parser.parse_args()


@contextmanager
def place_of(keep: Path | None) -> Iterator[Path]:
    """The folder of the data: the one to keep, or a temporary one."""
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="watchline-bench-") as folder:
        yield Path(folder)


def filled(dsn: str, folder: Path, size: Size, progress: Progress) -> Size:
    """The size of what is in the database, which is filled now when it is new."""
    note = folder / SIZE_FILE
    if note.exists():
        found = json.loads(note.read_text())
        return Size(**{**found, "until": datetime.fromisoformat(found["until"])})
    free = shutil.disk_usage(folder).free
    if free < size.bytes_needed:
        raise Misconfigured(
            f"{size.runs:,} runs need {size.bytes_needed / 2**30:.0f} GiB, and {folder} has {free / 2**30:.0f} free",
            hint="name a folder with more by --keep, or fewer --runs",
        )
    task = progress.add_task("filling", total=size.runs)
    asyncio.run(fill(dsn, size, tell=lambda runs: progress.update(task, completed=runs)))
    fields = {"runs": size.runs, "pipelines": size.pipelines, "days": size.days, "seed": size.seed}
    note.write_text(json.dumps({**fields, "until": size.until.isoformat()}))
    return size


def measured(options: argparse.Namespace, folder: Path, progress: Progress) -> tuple[list[Answer], list[Figure]]:
    """What the views answered, and the rate of the sink."""
    wanted = Size(options.runs, options.pipelines, until=datetime.now(UTC), seed=options.seed)
    with EmbeddedPostgres(folder / "postgres", settings=DURABLE) as postgres:
        size = filled(postgres.dsn, folder, wanted, progress)
        task = progress.add_task("asking", total=None)
        answers = asyncio.run(
            ask_all(postgres.dsn, size, repeats=options.repeats, tell=lambda at: progress.update(task, description=at))
        )
        if not options.rounds:
            return answers, []
        rates = asyncio.run(
            measure(
                postgres.dsn,
                size,
                rows=options.rows,
                rounds=options.rounds,
                tell=lambda at: progress.update(task, description=at),
            )
        )
        return answers, rates


def main() -> None:
    options = parse()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with place_of(options.keep) as folder, Progress(*columns, console=Console(stderr=True)) as progress:
        answers, rates = measured(options, folder, progress)
    if not options.json:
        console().print(table_of(answers))
    show("reporting", [*figures_of(answers), *rates], as_json=options.json)


if __name__ == "__main__":
    main()
