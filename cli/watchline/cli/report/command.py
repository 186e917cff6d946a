"""`watchline report pipelines|daily|sla|anomalies|lineage`."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

import click
from rich.text import Text

from watchline.cli.console import out
from watchline.cli.failures import say
from watchline.cli.logs import configure_command_logs
from watchline.cli.report.answers import Rows, answer, answer_paths, answer_with_days
from watchline.cli.report.drawing import sparkline, tree_of
from watchline.cli.report.layouts import LINES, table_of
from watchline.cli.report.questions import ANOMALIES, DAILY, EDGES, PATHS, PIPELINES, SLA, Question
from watchline.cli.settings import read_dsn

Command = TypeVar("Command", bound=Callable[..., Any])
LIMITS = click.IntRange(1, 1_000_000)


@click.group()
def report() -> None:
    """Print what the views of the schema `reporting` say: the state, days, promises.

    A table for people; csv, json (one object a line) and md for everything else, with
    more columns. How many rows there are goes to stderr. All days are those of UTC.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN   a login in watchline_reader will do; also _DSN_FILE

    \b
    Example:
      watchline report daily --days 3 --owner sales
      watchline report sla --format csv > sla.csv
    """
    configure_command_logs()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may hold what the terminal's encoding does not


def layout_options(limit: int) -> Callable[[Command], Command]:
    """The options of every report."""

    def decorate(command: Command) -> Command:
        formats = click.Choice(["table", *LINES])
        with_limit = click.option(
            "--limit", type=LIMITS, default=limit, show_default=True, help="At most so many rows."
        )(command)
        return click.option("--format", "layout", type=formats, default="table", show_default=True)(with_limit)

    return decorate


def choice_options(command: Command) -> Command:
    """Which pipelines a report is about."""
    for name, parameter in (("owner", "owner"), ("type", "kind"), ("pipeline", "pipeline")):
        command = click.option(f"--{name}", parameter, metavar="NAME", help=f"Only of this {name}.")(command)
    return command


@report.command(short_help="Each pipeline and how it stands")
@choice_options
@layout_options(100)
def pipelines(pipeline: str | None, kind: str | None, owner: str | None, layout: str, limit: int) -> None:
    """Show how each pipeline stands, those with open incidents first.

    The last column of the table has a block a day of the last two weeks: as high as
    its runs, red where some failed.

    \b
    Example:
      watchline report pipelines --owner sales
    """
    wanted = {"pipeline": pipeline, "type": kind, "owner": owner}
    today = datetime.now(UTC).date()
    rows, days = asyncio.run(answer_with_days(read_dsn(), PIPELINES, wanted, limit=limit, today=today))
    recent = [sparkline(*days[row["pipeline"]]) for row in rows]
    show(PIPELINES, rows, layout, limit=limit, more={"two weeks": recent})


@report.command(short_help="Runs, errors, rows and durations by day")
@click.option("--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="So many, with today.")
@choice_options
@layout_options(500)
def daily(days: int, pipeline: str | None, kind: str | None, owner: str | None, layout: str, limit: int) -> None:
    """Show the days of each pipeline, the newest first and with today.

    \b
    Example:
      watchline report daily --days 30 --pipeline orders_daily
    """
    first = datetime.now(UTC).date() - timedelta(days=days - 1)
    wanted = {"first_day": first, "pipeline": pipeline, "pipeline_type": kind, "owner": owner}
    show(DAILY, asyncio.run(answer(read_dsn(), DAILY, wanted, limit=limit)), layout, limit=limit)


@report.command(short_help="Starts met, late and missed, and fresh data, by month")
@click.option("--months", type=click.IntRange(1, 120), default=3, show_default=True, help="So many, with this one.")
@choice_options
@layout_options(500)
def sla(months: int, pipeline: str | None, kind: str | None, owner: str | None, layout: str, limit: int) -> None:
    """Show which promises were kept, by month: the newest first, the worst of it on top.

    \b
    Example:
      watchline report sla --months 1
    """
    first = first_of_month(datetime.now(UTC).date(), back=months - 1)
    wanted = {"first_month": first, "pipeline": pipeline, "pipeline_type": kind, "owner": owner}
    show(SLA, asyncio.run(answer(read_dsn(), SLA, wanted, limit=limit)), layout, limit=limit)


@report.command(short_help="What looked odd, the strongest first")
@click.option("--days", type=click.IntRange(1, 3660), default=7, show_default=True, help="Of so many days.")
@choice_options
@layout_options(50)
def anomalies(days: int, pipeline: str | None, kind: str | None, owner: str | None, layout: str, limit: int) -> None:
    """Show metrics outside their expected range, the strongest first.

    \b
    Example:
      watchline report anomalies --days 30 --format md
    """
    since = datetime.now(UTC) - timedelta(days=days)
    wanted = {"since": since, "pipeline": pipeline, "pipeline_type": kind, "owner": owner}
    show(ANOMALIES, asyncio.run(answer(read_dsn(), ANOMALIES, wanted, limit=limit)), layout, limit=limit)


@report.command(short_help="Which data is made of which")
@click.argument("dataset", required=False)
@click.option("--direction", type=click.Choice(["upstream", "downstream"]), help="Only this way; both without it.")
@layout_options(500)
def lineage(dataset: str | None, direction: str | None, layout: str, limit: int) -> None:
    """Show the edges that are declared, or all that is up- and downstream of a DATASET.

    \b
    Example:
      watchline report lineage warehouse.orders --direction upstream
    """
    if dataset is None:
        if direction is not None:
            raise click.UsageError("--direction goes with a DATASET")
        show(EDGES, asyncio.run(answer(read_dsn(), EDGES, {}, limit=limit)), layout, limit=limit)
        return
    rows = asyncio.run(answer_paths(read_dsn(), dataset, direction, limit=limit))
    if layout != "table":
        show(PATHS, rows, layout, limit=limit)
        return
    for tree in tree_of(dataset, rows):
        out.print(tree)
    say(count_line(rows, limit=limit))


def show(
    question: Question, rows: Rows, layout: str, *, limit: int, more: Mapping[str, list[Text]] | None = None
) -> None:
    """Print the rows, and say how many there are."""
    if layout != "table":
        for line in LINES[layout](question, rows):
            click.echo(line)
    elif rows:
        out.print(table_of(question, rows, more, width=out.width), soft_wrap=False)
    say(count_line(rows, limit=limit))


def count_line(rows: Rows, *, limit: int) -> str:
    """`12 rows`, and that there may be more."""
    counted = "no rows" if not rows else "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    return f"{counted}, the limit: --limit shows more" if len(rows) >= limit else counted


def first_of_month(day: date, *, back: int) -> date:
    """The first day of the month that lies `back` months before that of `day`."""
    months = day.year * 12 + day.month - 1 - back
    return date(months // 12, months % 12 + 1, 1)
