"""`watchline demo`."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from watchline.cli.console import StartReport, err
from watchline.cli.demo.history import read_history
from watchline.cli.demo.show import show
from watchline.cli.dev.servers import EmbeddedServers, ForeignServers, Servers, named_by_environment
from watchline.cli.dev.stack import Stack
from watchline.cli.dev.stopping import stopped_by_signal
from watchline.cli.logs import configure_command_logs

KEPT = Path(".watchline")
# The alert of the live run is shown at once, and in this terminal: no channel of somebody's hears of a demo.
SLACK = ("WEBHOOK_URL", "FALLBACK_WEBHOOK_URL", "BOT_TOKEN", "CHANNEL", "FALLBACK_CHANNEL", "ROUTES")
NOTIFIER = {"WATCHLINE_GROUP_WAIT_SECONDS": "0", **{f"WATCHLINE_SLACK_{name}": "" for name in SLACK}}


@click.command()
@click.option("--keep", is_flag=True, help=f"Keep the data in {KEPT} and everything running until Ctrl-C.")
@click.option("--limit", type=click.IntRange(min=1), metavar="RUNS", help="Replay only the oldest RUNS runs.")
def demo(*, keep: bool, limit: int | None) -> None:
    """Replay real CI runs through the whole of Watchline and print what was found.

    28,191 Jenkins runs of ten Apache projects (2020 to 2024) become events, travel
    through Kafka, are judged by the streams worker and stored in Postgres. Prints the
    pipelines, the ten strongest anomalies and the SQL to see more. Exit code 1 when the
    totals in Postgres differ from the file. Nothing is left behind without --keep.

    \b
    Settings (both, to use servers of your own instead of the embedded ones):
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              postgresql://user:password@host:5432/db

    \b
    Example:
      watchline demo --keep
    """
    configure_command_logs()
    report = StartReport(err)
    history = read_history(limit)
    alerts: list[str] = []

    def show_alert(line: str) -> None:
        alerts.append(line)
        click.echo(line)

    with stopped_by_signal(), _directory(keep=keep) as directory:
        servers: Servers = (
            ForeignServers() if named_by_environment() else EmbeddedServers(directory, announce=report.announce)
        )
        stack = Stack(directory, servers, announce=report.announce, show_alert=show_alert, environment=NOTIFIER)
        try:
            with stack:
                report.done()
                asyncio.run(show(stack, history, kept=keep))
                if keep:
                    _stay(stack)
        finally:
            report.abandon()


def _stay(stack: Stack) -> None:
    try:
        err.print("\nEverything goes on running; Ctrl-C stops it, `watchline dev` starts it again")
        while True:
            stack.check()
            time.sleep(0.2)
    except KeyboardInterrupt:
        return


@contextmanager
def _directory(*, keep: bool) -> Iterator[Path]:
    if keep:
        yield KEPT.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="watchline-demo-") as name:
        yield Path(name).resolve()
