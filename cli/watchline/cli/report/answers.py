"""The answers of Postgres to the questions of the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import date
from typing import Any

import asyncpg

from watchline.cli.nearness import meant, nearest
from watchline.cli.reach import tables
from watchline.cli.report.questions import PATHS, Question, Statement, ask
from watchline.schemas.errors import Misconfigured

RECENT_DAYS = 14
ALIKE = 0.5  # the parts of a path of names may stand in another order
# A day without a run is a zero. Days are counted back as numbers: stepping from one to the next would be done in the
# time zone of the session, where a midnight may be missing.
RECENT = """
select n.name as pipeline, array_agg(coalesce(d.runs, 0) order by g.back desc) as runs,
    array_agg(coalesce(d.failed + d.aborted, 0) order by g.back desc) as bad
from unnest($1::text[]) as n (name)
cross join generate_series(0, $3::integer - 1) as g (back)
left join reporting.daily d on d.pipeline = n.name and d.day = $2::date - g.back
    and d.day > $2::date - $3::integer and d.day <= $2::date and d.pipeline = any($1)
group by n.name
"""
KNOWN = "select exists (select from reporting.datasets where dataset = $1)"
NAMES = "select dataset from reporting.datasets order by dataset limit 20000"

Rows = Sequence[Mapping[str, Any]]


async def answer(dsn: str, question: Question, wanted: Mapping[str, Any], *, limit: int) -> Rows:
    """The rows of a report; see `tables` for the errors."""
    async with reporting(dsn) as connection:
        return await _fetch(connection, ask(question, wanted, limit=limit))


async def answer_with_days(
    dsn: str, question: Question, wanted: Mapping[str, Any], *, limit: int, today: date
) -> tuple[Rows, dict[str, tuple[list[int], list[int]]]]:
    """The rows, and of each pipeline its runs and bad runs of the last RECENT_DAYS days, oldest first."""
    async with reporting(dsn) as connection:
        rows = await _fetch(connection, ask(question, wanted, limit=limit))
        names = [row["pipeline"] for row in rows]
        found = await connection.fetch(RECENT, names, today, RECENT_DAYS)
    return rows, {row["pipeline"]: (row["runs"], row["bad"]) for row in found}


async def answer_paths(dsn: str, dataset: str, direction: str | None, *, limit: int) -> Rows:
    """All that is up- or downstream of a dataset; Misconfigured when there is none of that name."""
    async with reporting(dsn) as connection:
        if not await connection.fetchval(KNOWN, dataset):
            raise _unknown(dataset, [row["dataset"] for row in await connection.fetch(NAMES)])
        return await _fetch(connection, ask(PATHS, {"dataset": dataset, "direction": direction}, limit=limit))


def reporting(dsn: str) -> AbstractAsyncContextManager[asyncpg.Connection[Any]]:
    """A connection to the views."""
    return tables(dsn, rights="read the views of reporting: be a member of watchline_reader")


async def _fetch(connection: asyncpg.Connection[Any], statement: Statement) -> Rows:
    return [dict(row) for row in await connection.fetch(statement.sql, *statement.values)]


def _unknown(dataset: str, names: Sequence[str]) -> Misconfigured:
    hint = meant(nearest(dataset, names, alike=ALIKE)) or "`watchline report lineage` lists the edges"
    return Misconfigured(f"no pipeline declares a dataset {dataset}", hint=hint)
