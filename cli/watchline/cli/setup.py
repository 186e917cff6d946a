"""`watchline migrate` and `watchline topics`: what has to exist before the services start."""

from __future__ import annotations

import asyncio

import click

from watchline.cli.doctor.check import TOPICS_HINT
from watchline.cli.failures import say, say_hint
from watchline.cli.logs import configure_command_logs
from watchline.cli.reach import check_kafka, check_postgres, describe_dsn, postgres
from watchline.cli.settings import read_dsn, read_kafka, read_topics
from watchline.consumers import migrations, roles
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured
from watchline.schemas.topics import PARTITIONS, Topics
from watchline.streams.topics import check_topics, create_topics


@click.command()
@click.option("--roles-sql", is_flag=True, help="Only print the SQL that makes the roles, for an administrator.")
def migrate(*, roles_sql: bool) -> None:
    """Bring the Postgres schema up to date.

    Safe to run again and by several at once: an advisory lock lets one through.
    Prints the revisions it applied to stdout, nothing when there were none.
    Makes the roles watchline_writer, _notifier and _reader where it may.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN        postgresql://user:password@host:5432/db
      WATCHLINE_POSTGRES_DSN_FILE   a file that holds it

    \b
    Example:
      WATCHLINE_POSTGRES_DSN=postgresql://… watchline migrate
    """
    configure_command_logs()
    dsn = read_dsn()
    if roles_sql:
        click.echo(asyncio.run(_roles_sql(dsn)), nl=False)
        return
    applied, missing = asyncio.run(_migrate(dsn))
    for revision in applied:
        click.echo(revision)
    outcome = f"{len(applied)} migrations applied" if applied else "already up to date"
    say(f"Postgres at {describe_dsn(dsn)}: {outcome}")
    if missing:
        say(f"roles that this user may not create: {', '.join(missing)}")
        say_hint("an administrator can run what `watchline migrate --roles-sql` prints; see docs/production.md")


async def _migrate(dsn: str) -> tuple[list[str], list[str]]:
    """The revisions applied, and the roles that are still missing."""
    await check_postgres(dsn)
    applied = await migrations.migrate(dsn)
    async with postgres(dsn) as connection:
        return applied, await roles.missing_roles(connection)


async def _roles_sql(dsn: str) -> str:
    async with postgres(dsn) as connection:
        return await roles.administrators_sql(connection)


@click.group()
def topics() -> None:
    """Create or check the Kafka topics.

    \b
    Settings:
      WATCHLINE_KAFKA_BOOTSTRAP_SERVERS   host:port[,host:port…]
      WATCHLINE_KAFKA_SASL_*, _SSL_*      credentials, see docs/production.md
      WATCHLINE_TOPIC_PREFIX              default watchline
      WATCHLINE_PARTITIONS                default 8
      WATCHLINE_REPLICATION_FACTOR        default 1
    """


partitions_option = click.option(
    "--partitions",
    envvar="WATCHLINE_PARTITIONS",
    default=PARTITIONS,
    show_default=True,
    type=click.IntRange(1, 1000),
    help="The same for every topic.",
)


@topics.command(short_help="Create the topics that are missing")
@partitions_option
@click.option(
    "--replication-factor",
    envvar="WATCHLINE_REPLICATION_FACTOR",
    default=1,
    show_default=True,
    type=click.IntRange(1, 100),
    help="3 on a real cluster.",
)
def create(partitions: int, replication_factor: int) -> None:
    """Create the topics that are missing; those that exist are left as they are.

    Prints what it created to stdout.

    \b
    Example:
      watchline topics create --partitions 8 --replication-factor 3
    """
    configure_command_logs()
    created = asyncio.run(_create(read_kafka(), read_topics(), partitions, replication_factor))
    for name in created:
        click.echo(name)
    say(f"{len(created)} topics created" if created else "all topics exist already")


@topics.command(short_help="Compare the topics with what is needed")
@partitions_option
def check(partitions: int) -> None:
    """Compare the topics with what Watchline needs; exit code 2 when they differ.

    \b
    Example:
      watchline topics check --partitions 8
    """
    configure_command_logs()
    problems = asyncio.run(_check(read_kafka(), read_topics(), partitions))
    if problems:
        raise Misconfigured("; ".join(problems), hint=TOPICS_HINT)
    say(f"all topics are there, with {partitions} partitions each")


async def _create(kafka: KafkaConnection, names: Topics, partitions: int, replication_factor: int) -> list[str]:
    await check_kafka(kafka)
    return await create_topics(kafka, names, partitions=partitions, replication_factor=replication_factor)


async def _check(kafka: KafkaConnection, names: Topics, partitions: int) -> list[str]:
    await check_kafka(kafka)
    return await check_topics(kafka, names, partitions=partitions)
