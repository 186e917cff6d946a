"""`watchline doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import asyncpg
import click
from rich.table import Table
from rich.text import Text

from watchline.cli.console import out
from watchline.cli.doctor.check import Check, failure, judge_lag, judge_slack
from watchline.cli.doctor.kafka import check_kafka
from watchline.cli.doctor.postgres import check_postgres
from watchline.cli.failures import say_hint
from watchline.cli.lag import end_offsets, lag, stored_offsets
from watchline.cli.logs import configure_command_logs
from watchline.cli.reach import postgres
from watchline.cli.settings import read_dsn, read_kafka, read_settings
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import WatchlineError
from watchline.streams.settings import StreamsSettings

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command()
def doctor() -> None:
    """Check settings, Kafka, topics, lag, Postgres, schema, permission, clock and alerts.

    Prints one line a check: ok, warn or fail. Exit code 1 when one fails. Nothing is
    changed and no message is sent.

    \b
    Settings: those of streams, sink and notify, among them
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              postgresql://user:password@host:5432/db
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_PARTITIONS                default 8

    \b
    Example:
      watchline doctor
    """
    configure_command_logs()
    checks = asyncio.run(examine())
    out.print(table_of(checks), soft_wrap=False)
    for check in checks:
        if check.hint:
            say_hint(f"{check.name}: {check.hint}")
    if any(check.outcome == "fail" for check in checks):
        raise click.exceptions.Exit(1)


async def examine() -> list[Check]:
    """All checks; those that need what is missing are left out."""
    wrong = [*_settings_checks()]
    if wrong:
        return wrong
    settings = StreamsSettings()
    checks = [Check("settings", "ok", f"topics {settings.topics.prefix}.*, log epoch {settings.log_epoch}")]
    kafka = [check async for check in check_kafka(read_kafka(), settings.topics, settings.partitions)]
    database = [check async for check in check_postgres(read_dsn())]
    checks += kafka + database
    if all(check.outcome != "fail" for check in kafka + database):
        checks.append(await _sink_check(settings))
    return [*checks, judge_slack(NotifierSettings.from_environment().reaches_slack)]


def _settings_checks() -> list[Check]:
    """What is wrong with the settings of each service; empty when nothing is."""
    services: dict[str, Callable[[], object]] = {
        "streams": StreamsSettings,
        "sink": SinkSettings.from_environment,
        "notify": NotifierSettings.from_environment,
    }
    wrong = []
    for name, read in services.items():
        try:
            read_settings(read)
        except WatchlineError as error:
            wrong.append(failure(f"settings of {name}", error))
    return wrong


async def _sink_check(settings: StreamsSettings) -> Check:
    async with postgres(read_dsn()) as connection:
        try:
            reached = await stored_offsets(connection, settings.log_epoch)
        except asyncpg.InsufficientPrivilegeError:  # the notifier's user, which has no business there
            return Check("lag of sink", "warn", "this user may not read it", "ask as the user of the sink")
    if not reached:
        return judge_lag("sink", None)
    return judge_lag("sink", lag(await end_offsets(settings.kafka, settings.topics.outputs), reached))


def table_of(checks: Sequence[Check]) -> Table:
    """One line a check."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("outcome", width=4)
    table.add_column("check", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for check in checks:
        table.add_row(Text(check.outcome, STYLES[check.outcome]), check.name, Text(check.detail))
    return table
