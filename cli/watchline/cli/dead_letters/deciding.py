"""`watchline dead-letters redrive` and `discard`."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import click

from watchline.cli.consent import confirm
from watchline.cli.console import out
from watchline.cli.dead_letters import display
from watchline.cli.dead_letters.choice import LETTER_ID, choose, find_chosen, operator
from watchline.cli.dead_letters.compaction import is_compacted
from watchline.cli.dead_letters.discarding import discard_letters
from watchline.cli.dead_letters.letters import Filter, Summary, open_letters
from watchline.cli.dead_letters.redriving import redrive_letters, why_not
from watchline.cli.failures import say
from watchline.cli.settings import read_dsn, read_kafka, read_topics
from watchline.consumers.sink.dead_letters import clean
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured, WatchlineError
from watchline.schemas.topics import Topics

chosen_ids = click.argument("ids", nargs=-1, type=LETTER_ID, metavar="ID…")
chosen_all = click.option("--all", "everything", is_flag=True, help="All open letters, instead of ids.")
chosen_reason = click.option("--reason", metavar="REASON", help="With --all: only those of this reason.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command(short_help="Send letters again")
@chosen_ids
@chosen_all
@chosen_reason
@click.option("--again", is_flag=True, help="Also those that were redriven before.")
@dry_run_option
@yes_option
def redrive(
    ids: tuple[int, ...], *, everything: bool, reason: str | None, again: bool, dry_run: bool, yes: bool
) -> None:
    """Send letters to the topics that they came from, byte for byte.

    Key and headers stay; a header watchline.redriven names the letter. A letter is
    marked when Kafka has it. What is still bad comes back as a new letter. Prints id
    and place of each; exit code 1 when some were left.

    \b
    Example:
      watchline dead-letters redrive 12 13
      watchline dead-letters redrive --all --reason unknown_event_type --dry-run
    """
    dsn, kafka, topics = read_dsn(), read_kafka(), read_topics()
    wanted = choose(ids, everything=everything, reason=reason, statuses=("open", "redriven") if again else ("open",))
    chosen = asyncio.run(_find(dsn, wanted))
    left = {one.dead_letter_id: why for one in chosen if (why := why_not(one, topics, again=again)) is not None}
    meant = [one for one in chosen if one.dead_letter_id not in left]
    say(f"to redrive: {display.count_line(_counts(meant), shown=len(meant))}")
    _tell_of_compaction(meant, topics)
    if dry_run:
        _show_plan(meant)
    elif meant:
        confirm(f"Send {len(meant):,} to {', '.join(sorted({one.source_topic for one in meant}))}?", yes=yes)
        left |= asyncio.run(_send(dsn, kafka, topics, [one.dead_letter_id for one in meant], again=again))
    _report_left(left)


@click.command(short_help="Give letters up")
@chosen_ids
@chosen_all
@chosen_reason
@click.option("--because", required=True, metavar="TEXT", help="Why; it is kept with them.")
@dry_run_option
@yes_option
def discard(
    ids: tuple[int, ...], *, everything: bool, reason: str | None, because: str, dry_run: bool, yes: bool
) -> None:
    """Mark open letters as given up; nothing is deleted.

    Prints the id of each; exit code 1 when some were left.

    \b
    Example:
      watchline dead-letters discard 12 13 --because "test data of the import"
    """
    if not because.strip():
        raise Misconfigured("--because is empty", hint="say why the letters are given up: it is kept with them")
    dsn = read_dsn()
    chosen = asyncio.run(_find(dsn, choose(ids, everything=everything, reason=reason, statuses=("open",))))
    left = {one.dead_letter_id: f"is {display.outcome_of(one)}" for one in chosen if one.status != "open"}
    meant = [one for one in chosen if one.status == "open"]
    say(f"to discard: {display.count_line(_counts(meant), shown=len(meant))}")
    if dry_run:
        _show_plan(meant)
    elif meant:
        confirm(f"Discard {len(meant):,}?", yes=yes)
        done = asyncio.run(_discard(dsn, [one.dead_letter_id for one in meant], clean(because.strip())))
        for letter_id in done:
            click.echo(letter_id)
        left |= {
            one.dead_letter_id: "was decided about by somebody else" for one in meant if one.dead_letter_id not in done
        }
    _report_left(left)


async def _find(dsn: str, wanted: Filter) -> list[Summary]:
    async with open_letters(dsn) as connection:
        return await find_chosen(connection, wanted)


async def _send(dsn: str, kafka: KafkaConnection, topics: Topics, ids: Sequence[int], *, again: bool) -> dict[int, str]:
    """Send and print; those that were left, with the reason."""
    left = {}
    async for outcome in redrive_letters(dsn, kafka, topics, ids, again=again, by=operator()):
        if outcome.left:
            left[outcome.dead_letter_id] = outcome.left
        else:
            click.echo(f"{outcome.dead_letter_id} {outcome.place}")
    return left


async def _discard(dsn: str, ids: Sequence[int], because: str) -> list[int]:
    async with open_letters(dsn) as connection:
        return await discard_letters(connection, ids, at=datetime.now(UTC), by=operator(), because=because)


def _counts(letters: Sequence[Summary]) -> dict[str, int]:
    return dict(Counter(one.reason for one in letters).most_common())


def _tell_of_compaction(letters: Sequence[Summary], topics: Topics) -> None:
    """What the bytes say is looked at when they are sent, and not before."""
    if number := sum(is_compacted(one.source_topic, topics) for one in letters):
        say(f"{number:,} of them belong to compacted topics: what is still bad or overtaken there will be left")


def _show_plan(letters: Sequence[Summary]) -> None:
    if letters:
        out.print(display.table_of(letters), soft_wrap=False)
    say("nothing was done: --dry-run")


def _report_left(left: Mapping[int, str]) -> None:
    """Name what was left; exit code 1 when anything was."""
    for letter_id, why in left.items():
        say(f"letter {letter_id} {why}")
    if left:
        raise WatchlineError(
            f"{len(left):,} of the letters left as they are", hint="`watchline dead-letters show ID` tells more"
        )
