"""Asking the views, as an analyst's login would, and what the answers took."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import asyncpg

from bench.reporting.plans import read_through
from bench.reporting.queries import SHAPES, Query, Subjects, queries_of
from bench.reporting.size import Size
from watchline.consumers.database import connect
from watchline.consumers.roles import READER
from watchline.schemas.errors import Misconfigured

TIMEOUT_SECONDS = 20
ENOUGH_SECONDS = 4.0  # nothing more is learnt from the fifth answer of a query that takes so long
# The login of an analyst, as docs/tables.md makes one.
SESSION = f"""
set role {READER};
set work_mem = '64MB';
set statement_timeout = '{TIMEOUT_SECONDS}s'
"""
VIEWS = (
    "select relname from pg_class where relnamespace = 'reporting'::regnamespace and relkind in ('v', 'm') order by 1"
)
RUN = "select ancestor from run_ancestry order by depth desc, descendant limit 1"
DATASET = """
select d.name from lineage_edges e join datasets d on d.dataset_id = e.source
where d.name like 'layer\\_0.%' group by 1 order by count(*) desc, 1 limit 1
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query took, once a repetition (ended at the time-out when it takes longer), and what it would scan."""

    query: Query
    milliseconds: tuple[float, ...]
    read_through: frozenset[str]

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


async def views_of(connection: asyncpg.Connection) -> list[str]:
    """The views that there are; Misconfigured when nobody has said how one of them is to be asked."""
    found = [row["relname"] for row in await connection.fetch(VIEWS)]
    unknown = sorted(set(found) - set(SHAPES))
    if unknown:
        raise Misconfigured(
            f"no query for the views {', '.join(unknown)}", hint="add them to SHAPES in bench/reporting/queries.py"
        )
    return found


async def subjects_of(connection: asyncpg.Connection, size: Size) -> Subjects:
    """What to ask about in a filled database."""
    return Subjects(
        pipelines={"a typical pipeline": size.typical, "the busiest pipeline": size.busiest},
        month=size.month,
        now=size.until,
        others={
            "run": await connection.fetchval(RUN),
            "dataset": await connection.fetchval(DATASET),
            "owner": await connection.fetchval("select owner from pipelines where pipeline = $1", size.typical),
        },
    )


async def ask_all(dsn: str, size: Size, *, repeats: int, tell: Callable[[str], None]) -> list[Answer]:
    """Every query of every view; each is asked once for nothing and then up to `repeats` times."""
    # Without a cache of statements, for a plan made for any value would take the place of the fitting one.
    connection = await connect(dsn, application="watchline-bench", statement_cache_size=0)
    try:
        views, subjects = await views_of(connection), await subjects_of(connection, size)
        await connection.execute(SESSION)
        answers = []
        for view in views:
            tell(view)
            answers += [await ask(connection, query, repeats) for query in queries_of(view, subjects)]
        return answers
    finally:
        await connection.close()


async def ask(connection: asyncpg.Connection, query: Query, repeats: int) -> Answer:
    """Explain the query, then time it from here: planning and the way of its rows are in it."""
    explained = await connection.fetchval(f"explain (format json) {query.sql}", *query.arguments)
    scanned = frozenset(read_through(json.loads(explained)))
    taken = [await timed(connection, query)]
    if taken[0] < TIMEOUT_SECONDS * 1000:
        began = time.perf_counter()
        taken = [await timed(connection, query)]
        while len(taken) < repeats and time.perf_counter() - began < ENOUGH_SECONDS:
            taken.append(await timed(connection, query))
    return Answer(query, tuple(taken), scanned)


async def timed(connection: asyncpg.Connection, query: Query) -> float:
    """Milliseconds to the last row; those of the time-out when there was none."""
    began = time.perf_counter()
    try:
        await connection.fetch(query.sql, *query.arguments)
    except asyncpg.QueryCanceledError:
        return TIMEOUT_SECONDS * 1000.0
    return (time.perf_counter() - began) * 1000
