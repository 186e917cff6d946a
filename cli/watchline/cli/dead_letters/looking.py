"""`watchline dead-letters list` and `show`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import click
from rich.text import Text

from watchline.cli.console import out
from watchline.cli.dead_letters import display
from watchline.cli.dead_letters.choice import LETTER_ID, STATUSES, read_since
from watchline.cli.dead_letters.letters import Filter, Letter, Summary, count, find, open_letters, read, returned
from watchline.cli.failures import say
from watchline.cli.settings import read_dsn
from watchline.consumers.sink.dead_letters import clean
from watchline.schemas.errors import Misconfigured, WatchlineError


@click.command("list", short_help="The letters, newest first")
@click.option("--reason", metavar="REASON", help="Only this reason; refused_by_database covers all of its kind.")
@click.option("--topic", metavar="TOPIC", help="Only from this topic.")
@click.option("--pipeline", metavar="NAME", help="Only with this name as the record's key.")
@click.option("--since", metavar="WHEN", help="Refused since then: 24h, 7d, 2026-11-30.")
@click.option(
    "--status", type=click.Choice([*STATUSES, "all"]), default="open", show_default=True, help="What became of them."
)
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="At most so many.")
@click.option("--format", "layout", type=click.Choice(["table", "json"]), default="table", show_default=True)
def list_command(
    reason: str | None,
    topic: str | None,
    pipeline: str | None,
    since: str | None,
    status: str,
    limit: int,
    layout: str,
) -> None:
    """List the letters, newest first; how many of each reason goes to stderr.

    With --format json, one object a line.

    \b
    Example:
      watchline dead-letters list --reason invalid_json --since 24h
    """
    wanted = Filter(
        STATUSES if status == "all" else (status,),
        reason=None if reason is None else clean(reason),
        topic=None if topic is None else clean(topic),
        key=None if pipeline is None else pipeline.encode(errors="surrogateescape"),
        since=None if since is None else read_since(since, now=datetime.now(UTC)),
    )
    found, counts = asyncio.run(_look(read_dsn(), wanted, limit))
    if layout == "json":
        for summary in found:
            click.echo(display.json_of(summary))
    elif found:
        out.print(display.table_of(found), soft_wrap=False)
    say(display.count_line(counts, shown=len(found)))


@click.command(short_help="Everything about one letter")
@click.argument("letter_id", type=LETTER_ID, metavar="ID")
@click.option("--full", is_flag=True, help="All of the value, not its first 4 KB.")
@click.option("--raw", is_flag=True, help="The bytes of the value, and nothing else.")
def show(letter_id: int, *, full: bool, raw: bool) -> None:
    """Show a letter: its place, reason, key, headers and value.

    A value that is no UTF-8 is shown as a hex dump.

    \b
    Example:
      watchline dead-letters show 12 --raw > 12.bin
    """
    letter, came_back = asyncio.run(_read(read_dsn(), letter_id))
    if not raw:
        for line in display.sheet_of(letter, returned=came_back, full=full):
            out.print(Text(line))
    elif letter.value is None:
        raise WatchlineError(f"the value of letter {letter_id} is a Kafka null: it has no bytes")
    else:
        click.get_binary_stream("stdout").write(letter.value)


async def _look(dsn: str, wanted: Filter, limit: int) -> tuple[list[Summary], dict[str, int]]:
    async with open_letters(dsn) as connection, connection.transaction(isolation="repeatable_read", readonly=True):
        return await find(connection, wanted, limit=limit), await count(connection, wanted)


async def _read(dsn: str, letter_id: int) -> tuple[Letter, Sequence[int]]:
    async with open_letters(dsn) as connection:
        letter = await read(connection, letter_id)
        if letter is None:
            raise Misconfigured(f"no dead letter {letter_id}", hint="`watchline dead-letters list` shows the ids")
        return letter, await returned(connection, letter_id) if letter.redriven_count else []
