"""`watchline restore-state`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from watchline.cli.console import err, out
from watchline.cli.failures import say, say_hint
from watchline.cli.logs import configure_command_logs
from watchline.cli.reach import check_kafka, tables
from watchline.cli.restoring.reading import said_of
from watchline.cli.restoring.restore import Restored, prepare
from watchline.cli.restoring.safety import count_workers, refuse
from watchline.cli.restoring.stored import MOST_RUNS, Extent
from watchline.cli.settings import read_dsn, read_settings
from watchline.schemas.printing import printable
from watchline.streams.settings import StreamsSettings

RIGHTS = "read the tables of the sink and make temporary ones: a member of watchline_writer may"


@click.command("restore-state")
@click.option("--dry-run", is_flag=True, help="Show what would be made of each pipeline, and write nothing.")
@click.option("--force", is_flag=True, help="Replace newer rows, and do not wait for the sink.")
@click.option(
    "--runs",
    type=click.IntRange(1, MOST_RUNS),
    default=2000,
    show_default=True,
    help="How many of the newest runs of a pipeline are read.",
)
@click.option(
    "--days",
    type=click.IntRange(0, 3660),
    default=35,
    show_default=True,
    help="And all of so many days before the log begins.",
)
def restore_state(*, dry_run: bool, force: bool, runs: int, days: int) -> None:
    """Make the state of the streams anew from Postgres.

    For a Kafka that has lost the changelogs, or is a new one, whose topic of the
    runs no longer reaches back: else the baselines are learnt again. Reads the
    runs that only Postgres has left, folds them as a worker does, says nothing
    of them to anybody, and writes the rows into the changelog. The worker that
    starts next goes on from there with what the log still has.

    Stop all workers first; let the sink store what they said. Then start them.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_KAFKA_SASL_*, _SSL_*      credentials, see docs/production.md
      WATCHLINE_POSTGRES_DSN              where the runs are; also _DSN_FILE
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_PARTITIONS                as for the workers
      WATCHLINE_LOG_EPOCH                 as the workers will have it

    \b
    Example:
      watchline restore-state --dry-run
    """
    configure_command_logs()
    settings = read_settings(StreamsSettings)
    asyncio.run(_restore(settings, read_dsn(), Extent(runs, days), dry_run=dry_run, force=force))


async def _restore(settings: StreamsSettings, dsn: str, extent: Extent, *, dry_run: bool, force: bool) -> None:
    await check_kafka(settings.kafka)
    async with said_of(settings.kafka), tables(dsn, rights=RIGHTS, lost="call the same command again") as connection:
        restoration, running = await prepare(connection, settings), await count_workers(settings)
        if not dry_run:
            refuse(running, restoration.doubts, force=force)
        restored: list[Restored] = []
        with _progress() as progress:
            task = progress.add_task("records of the log", total=restoration.remains.records)
            await restoration.read_log(lambda records: progress.advance(task, records))
            task = progress.add_task("pipelines", total=restoration.pipelines)
            found = restoration.pipelines_restored(
                extent, now=datetime.now(UTC), looked_at=lambda: progress.advance(task)
            )
            async for one in found if dry_run else restoration.write(found):
                restored.append(replace(one, row=b""))  # rows are large, and there may be very many
    if dry_run:
        out.print(table_of(restored))
    say(summary_of(restored, dry_run=dry_run))
    for doubt in [running, *(doubt.text for doubt in restoration.doubts)] if dry_run else []:
        if doubt:
            say(f"it would be refused now: {doubt}")
    if restored and not dry_run:
        say_hint("start the workers now: they go on with what the log still has")


def _progress() -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


def table_of(restored: Sequence[Restored]) -> Table:
    """A line a pipeline, within 80 columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("pipeline", overflow="fold")
    for name in ("runs", "going on", "baselines", "open incidents"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in restored:
        counts = (one.runs, one.going_on, one.baselines, one.incidents)
        table.add_row(Text(printable(one.pipeline, 200)), *(f"{count:,}" for count in counts))
    return table


def summary_of(restored: Sequence[Restored], *, dry_run: bool) -> str:
    """What was made, in a line."""
    if not restored:
        return "nothing to make: the log has all that Postgres has"
    runs, baselines = sum(one.runs for one in restored), sum(one.baselines for one in restored)
    would = "would be made" if dry_run else "made"
    return f"{would}: {len(restored):,} pipelines with {baselines:,} baselines, from {runs:,} runs of Postgres"
