"""`watchline demo`."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from watchline.cli.console import StartReport, err, out
from watchline.cli.demo.history import read_history
from watchline.cli.demo.night.play import RHYTHM
from watchline.cli.demo.night.show import show_night
from watchline.cli.demo.show import show
from watchline.cli.dev.servers import EmbeddedServers, ForeignServers, Servers, named_by_environment
from watchline.cli.dev.stack import Stack
from watchline.cli.dev.stopping import stopped_by_signal
from watchline.cli.logs import configure_command_logs
from watchline.schemas.errors import Misconfigured

KEPT = Path(".watchline")
KEPT_NIGHT = KEPT / "night"  # checked against all that its database holds, so it has one of its own
# The alert of the live run is shown at once, and in this terminal: no channel of somebody's hears of a demo.
SLACK = ("WEBHOOK_URL", "FALLBACK_WEBHOOK_URL", "BOT_TOKEN", "CHANNEL", "FALLBACK_CHANNEL", "ROUTES")
KEEPING = {"WATCHLINE_PRUNE": "0"}  # what is old is what is shown
NOTIFIER = {"WATCHLINE_GROUP_WAIT_SECONDS": "0", **{f"WATCHLINE_SLACK_{name}": "" for name in SLACK}}


@click.command()
@click.option("--keep", is_flag=True, help=f"Keep the data in {KEPT} and go on running until Ctrl-C.")
@click.option("--limit", type=click.IntRange(min=1), metavar="RUNS", help="Replay only the oldest RUNS runs.")
@click.option(
    "--scenario",
    type=click.Choice(["history", "night"]),
    default="history",
    show_default=True,
    help="What is shown.",
)
def demo(*, keep: bool, limit: int | None, scenario: str) -> None:
    """Show the whole of Watchline at work on this machine: real history, or one night full of trouble.

    history: 28,191 Jenkins runs of ten Apache projects (2020 to 2024) become events, travel
    through Kafka, are judged by the streams worker and stored in Postgres. Prints the
    pipelines, the ten strongest anomalies and the SQL to see more. Exit code 1 when the
    totals in Postgres differ from the file. Nothing is left behind without --keep.

    night: fourteen pipelines from 20:00 to 09:00, over the end of summer time, in a
    minute: a missed start, a hung run, a lost host, a late upstream, 20 min without
    Kafka, a failure that is tried again. Prints every incident and every message. Exit
    code 1 when one is false or missing. Always on the embedded servers.

    \b
    Settings of the history (both, to use servers of your own instead):
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              postgresql://user:password@host:5432/db

    \b
    Example:
      watchline demo --keep
      watchline demo --scenario night
    """
    if scenario == "night" and limit:
        raise click.UsageError("--limit is for the history: the night is played as a whole")
    configure_command_logs()
    if scenario == "night":
        _play_night(keep=keep)
    else:
        _replay_history(keep=keep, limit=limit)


def _play_night(*, keep: bool) -> None:
    if keep and KEPT_NIGHT.exists():
        raise Misconfigured(f"{KEPT_NIGHT} holds a night already", hint=f"remove {KEPT_NIGHT}, or go to another folder")
    report = StartReport(err)
    printed: list[str] = []
    with stopped_by_signal(), _directory(KEPT_NIGHT if keep else None) as directory:
        servers = EmbeddedServers(directory, announce=report.announce)  # pulses of old times are for a log of our own
        environment = {**NOTIFIER, **KEEPING, **RHYTHM}
        stack = Stack(directory, servers, announce=report.announce, show_alert=printed.append, environment=environment)
        try:
            with stack:
                report.done()
                asyncio.run(show_night(stack, printed))
                if keep:
                    out.print(f"\n{servers.psql}", markup=False)
                    _stay(stack, f"watchline dev --data-dir {KEPT_NIGHT}")
        finally:
            report.abandon()


def _replay_history(*, keep: bool, limit: int | None) -> None:
    report = StartReport(err)
    history = read_history(limit)
    alerts: list[str] = []

    def show_alert(line: str) -> None:
        alerts.append(line)
        click.echo(line)

    with stopped_by_signal(), _directory(KEPT if keep else None) as directory:
        servers: Servers = (
            ForeignServers() if named_by_environment() else EmbeddedServers(directory, announce=report.announce)
        )
        stack = Stack(
            directory, servers, announce=report.announce, show_alert=show_alert, environment={**NOTIFIER, **KEEPING}
        )
        try:
            with stack:
                report.done()
                asyncio.run(show(stack, history, kept=keep))
                if keep:
                    _stay(stack, "watchline dev")
        finally:
            report.abandon()


def _stay(stack: Stack, again: str) -> None:
    try:
        err.print(f"\nEverything goes on running; Ctrl-C stops it, `{again}` starts it again")
        while True:
            stack.check()
            time.sleep(0.2)
    except KeyboardInterrupt:
        return


@contextmanager
def _directory(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="watchline-demo-") as name:
        yield Path(name).resolve()
