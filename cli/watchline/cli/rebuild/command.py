"""`watchline rebuild`."""

from __future__ import annotations

import asyncio

import click

from watchline.cli.console import err, out
from watchline.cli.failures import say
from watchline.cli.logs import configure_command_logs
from watchline.cli.reach import check_topics_exist, describe_dsn, tables
from watchline.cli.rebuild.display import Progressing, lines_of, table_of
from watchline.cli.settings import read_dsn, read_kafka, read_settings
from watchline.consumers import rebuild as rebuilding
from watchline.consumers.rebuild import Outcome, Wanted
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import WatchlineError

RIGHTS = "own the tables and be allowed to create schemas: it is the one that runs `watchline migrate`"
LOST = "the old tables are in force; the same command begins anew"


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be read, and what the log can't give back.")
@click.option("--keep-older", is_flag=True, help="Take over from the old tables what the log can't give back.")
@click.option("--accept-differences", is_flag=True, help="Swap even if the views say other things than before.")
@click.option("--drop-old", is_flag=True, help="Only drop the tables that the last rebuild replaced.")
def rebuild(*, dry_run: bool, keep_older: bool, accept_differences: bool, drop_old: bool) -> None:
    """Make the sink's tables anew from the log, and compare the views.

    Reads the streams' topics from their beginning into tables of a schema of
    their own, up to where the sink stands; it may run meanwhile. Prints a
    checksum of each view of `reporting` before and after. When all are equal, the
    new tables take the place of the old ones, in one step. Alerts stay as they
    are: none is written or sent again. Exit code 1 when a view would differ and
    nothing was swapped.

    The old tables are kept in the schema watchline_old until --drop-old or the
    next rebuild. Stopped or killed at any moment, it leaves the old tables in
    force.

    \b
    Settings (as for the sink):
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_POSTGRES_DSN              of the user who migrates; also _DSN_FILE
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_LOG_EPOCH                 default 0

    \b
    Example:
      watchline rebuild --dry-run
      watchline rebuild
    """
    if drop_old and (dry_run or keep_older or accept_differences):
        raise click.UsageError("--drop-old drops the tables of the last rebuild and does nothing else")
    configure_command_logs()
    dsn = read_dsn()
    if drop_old:
        dropped = asyncio.run(_drop_old(dsn))
        say("the old tables are dropped" if dropped else "there is nothing to drop")
        return
    read_kafka()  # says which variable is wrong
    settings = read_settings(SinkSettings.from_environment)
    if dry_run:
        asyncio.run(_estimate(dsn, settings))
    else:
        report(asyncio.run(_rebuild(dsn, settings, Wanted(keep_older, accept_differences))), describe_dsn(dsn))


def report(outcome: Outcome, place: str) -> None:
    """Print what came of it; WatchlineError when nothing was swapped."""
    out.print(table_of(outcome.compared), soft_wrap=False)
    for name, count in outcome.kept.items():
        say(f"{name}: {count:,} rows that the log can't give back are kept")
    if not outcome.swapped:
        raise WatchlineError(
            f"{len(outcome.different)} views would differ: {', '.join(outcome.different)}; nothing was swapped",
            hint="the new tables stand in the schema watchline_rebuild for you to look at, until --drop-old or the "
            "next rebuild; `watchline rebuild --accept-differences` takes what the log says",
        )
    say(f"Postgres at {place}: rebuilt from {outcome.records:,} records, swapped in {outcome.held_seconds:.2f} s")
    say("the old tables are in the schema watchline_old; `watchline rebuild --drop-old` drops them")


async def _rebuild(dsn: str, settings: SinkSettings, wanted: Wanted) -> Outcome:
    await check_topics_exist(settings.kafka, settings.topics)
    async with tables(dsn, rights=RIGHTS, lost=LOST) as connection:
        with Progressing(err) as progress:
            return await rebuilding.rebuild(connection, settings, wanted, progress)


async def _estimate(dsn: str, settings: SinkSettings) -> None:
    await check_topics_exist(settings.kafka, settings.topics)
    async with tables(dsn, rights=RIGHTS) as connection:
        reach, size = await rebuilding.estimate(connection, settings)
    for line in lines_of(reach, size):
        click.echo(line)


async def _drop_old(dsn: str) -> bool:
    async with tables(dsn, rights=RIGHTS) as connection:
        return await rebuilding.drop_old(connection)
