"""`watchline prune`: delete what has grown old, now instead of at the hour of the sink."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import click
from rich.table import Table

from watchline.cli.consent import confirm
from watchline.cli.console import err, out
from watchline.cli.failures import say
from watchline.cli.logs import configure_command_logs
from watchline.cli.reach import tables
from watchline.cli.settings import read_dsn, read_settings
from watchline.consumers.retention.choosing import count
from watchline.consumers.retention.plan import COUNTED, TABLES, Plan, chosen_tables
from watchline.consumers.retention.pruning import Outcome, Pruner
from watchline.consumers.retention.session import COUNT_SECONDS, STATEMENT_SECONDS, begin, is_alone
from watchline.consumers.retention.settings import RetentionSettings
from watchline.schemas.errors import Misconfigured, Unavailable, WatchlineError

RIGHTS = "be in watchline_writer"
LOST = "what was deleted stays so; call it again for the rest"


@click.command()
@click.option("--table", "names", type=click.Choice(TABLES), multiple=True, metavar="NAME", help="Only this table.")
@click.option("--days", type=click.IntRange(1, 36_500), help="With --table: keep so many days of it.")
@click.option("--dry-run", is_flag=True, help="Count what would be deleted, and do nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(names: tuple[str, ...], days: int | None, *, dry_run: bool, yes: bool) -> None:
    """Delete what is older than its table is kept.

    The sink does this every day by itself. What open incidents need stays, and so
    do open runs and the newest of each pipeline. It gives way to whoever uses the
    rows; exit code 1 when some were left for that. Prints how many rows went.

    \b
    Settings:
      WATCHLINE_POSTGRES_DSN    where the tables are; also _DSN_FILE
      WATCHLINE_KEEP_…_DAYS     by table, see docs/production.md

    \b
    Example:
      watchline prune --dry-run
      watchline prune --table runs --days 200
    """
    configure_command_logs()
    if days is not None and not names:
        raise Misconfigured("--days goes with --table", hint="say of which tables: --table runs --days 200")
    dsn, settings = read_dsn(), read_settings(RetentionSettings)
    now, changed = datetime.now(UTC), dict.fromkeys(names if days is not None else (), days or 0)
    plan = Plan(now, settings.cutoffs(now, **changed), chosen_tables(names))
    if dry_run:
        out.print(table_of(asyncio.run(_count(dsn, plan)), plan, "would go"), soft_wrap=False)
        say("nothing was done: --dry-run")
        return
    if not yes:
        counted = asyncio.run(_count(dsn, plan))
        err.print(table_of(counted, plan, "would go"), soft_wrap=False)
        confirm(f"Delete {counted.total():,} rows for good?", yes=not counted.total())
    outcome = asyncio.run(_prune(dsn, plan))
    out.print(table_of(outcome.deleted, plan, "deleted"), soft_wrap=False)
    if outcome.left:
        raise WatchlineError(
            f"rows of {', '.join(sorted(outcome.left))} are in use and were left", hint="call it again later"
        )


def table_of(rows: Mapping[str, int], plan: Plan, title: str) -> Table:
    """How many rows of each table, and from when on it is kept."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("table", no_wrap=True)
    table.add_column("kept from, UTC", no_wrap=True)
    table.add_column("days", justify="right")
    table.add_column(title, justify="right")
    for name, of in COUNTED.items():
        if of in plan.tables:
            since = plan.cutoffs[of]
            table.add_row(name, f"{since:%Y-%m-%d}", f"{(plan.now - since).days:,}", f"{rows.get(name, 0):,}")
    return table


async def _count(dsn: str, plan: Plan) -> Counter[str]:
    async with _connected(dsn, seconds=COUNT_SECONDS) as connection:
        with err.status("counting …"):
            return await count(connection, plan)


async def _prune(dsn: str, plan: Plan) -> Outcome:
    """Delete, and say on the way how far it is."""
    async with _connected(dsn, seconds=STATEMENT_SECONDS) as connection:
        if not await is_alone(connection):
            raise Unavailable("somebody else prunes this database now", hint="a sink, most likely; call it again later")
        with err.status("looking for what is old …") as status:

            def heard(table: str, outcome: Outcome) -> None:
                status.update(f"{table}: {outcome.deleted[table]:,} deleted, {outcome.deleted.total():,} rows in all …")

            return await Pruner(connection, plan, asyncio.Event(), heard=heard).prune()


@asynccontextmanager
async def _connected(dsn: str, *, seconds: float) -> AsyncIterator[asyncpg.Connection[Any]]:
    async with tables(dsn, rights=RIGHTS, lost=LOST) as connection:
        await begin(connection, statement_seconds=seconds)
        yield connection
