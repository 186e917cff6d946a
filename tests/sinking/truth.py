"""What the views say when they count all runs, as they did before days were stored: to hold the faster ones against."""

from __future__ import annotations

import re
from typing import Any

import asyncpg

from brokers.apache import REPOSITORY

VIEWS = REPOSITORY / "migrations" / "views" / "0011"
MOMENT = "coalesce(r.started_at, r.ended_at) at time zone 'UTC'"
PERIODS = {
    "daily": ("day", f"({MOMENT})::date"),
    "hourly": ("hour", f"date_trunc('hour', {MOMENT}) at time zone 'UTC'"),
}
NAMES = ("daily", "hourly", "week_over_week", "sla")
OPEN = {"sla": "stale_seconds, fresh_share"}  # these go by the clock, and are not what is stored


async def make_truth(connection: asyncpg.Connection) -> None:
    """Make the schema `truth` with views of these names."""
    await connection.execute("create schema truth")
    for view, (column, period) in PERIODS.items():
        await connection.execute(definition("periods").format(view=view, column=column, period=period))
    for view in ("week_over_week", "sla"):
        await connection.execute(definition(view))


def definition(script: str) -> str:
    found = re.search(r"create view reporting\..*?;\n\ncomment", (VIEWS / f"{script}.sql").read_text(), re.DOTALL)
    assert found is not None
    return found[0].removesuffix("\n\ncomment").replace("create view reporting.", "create view truth.")


async def differences(connection: asyncpg.Connection, view: str) -> list[dict[str, Any]]:
    """The rows that only one of both has, all from one snapshot."""
    columns = await connection.fetchval(
        "select string_agg(format('%I', attname), ', ' order by attnum) from pg_attribute "
        "where attrelid = $1::regclass and attnum > 0 and attname <> all(string_to_array($2, ', '))",
        f"truth.{view}",
        OPEN.get(view, ""),
    )
    fast, slow = (f"select {columns} from {schema}.{view}" for schema in ("reporting", "truth"))
    found = await connection.fetch(
        f"(select 'only stored' as kind, * from ({fast} except all {slow}) a) "
        f"union all (select 'only counted', * from ({slow} except all {fast}) b)"
    )
    return [dict(row) for row in found]


async def all_differences(connection: asyncpg.Connection) -> dict[str, list[dict[str, Any]]]:
    """By view; empty when all of them are exact."""
    found = {view: await differences(connection, view) for view in NAMES}
    return {view: rows for view, rows in found.items() if rows}


async def fold_all(connection: asyncpg.Connection, cells: int = 1000) -> int:
    """Fold until nothing is marked, and say how many cells that were."""
    folded = 0
    while found := await connection.fetchval("select fold_days($1)", cells):
        folded += found
    return folded
