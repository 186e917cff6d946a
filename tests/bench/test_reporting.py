"""The database at size is what its size says, every view is asked, and plans are read for what they scan."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from bench.reporting.__main__ import parse
from bench.reporting.answers import figures_of
from bench.reporting.asking import SESSION, Answer, subjects_of, views_of
from bench.reporting.filling import fill
from bench.reporting.plans import read_through
from bench.reporting.queries import Query, queries_of
from bench.reporting.size import UNFOLDED_RUNS, Size
from brokers.databases import Postgres, create_database, drop_database
from docs.blocks import block_with
from watchline.consumers.database import connect
from watchline.consumers.sink.folding import FOLD
from watchline.schemas.errors import Misconfigured

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SMALL = Size(2_000, 40, until=NOW)


def scan(table: str, kind: str = "Seq Scan", *below: dict[str, Any]) -> dict[str, Any]:
    return {"Node Type": kind, "Relation Name": table, "Plans": list(below)}


@pytest.fixture(scope="module")
def filled(postgres: Postgres, template_database: str) -> Iterator[str]:
    name = f"t_{uuid4().hex[:12]}"
    dsn = asyncio.run(create_database(postgres, name, template=template_database))
    asyncio.run(fill(dsn, SMALL, tell=lambda _: None))
    yield dsn
    asyncio.run(drop_database(postgres, name))


@pytest.fixture
async def connection(filled: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await connect(filled, application="tests")
    yield opened
    await opened.close()


async def checksum(dsn: str) -> str:
    """Of all runs."""
    opened = await connect(dsn, application="tests")
    found: str = await opened.fetchval("select md5(string_agg(r::text, '' order by run_id)) from runs r")
    await opened.close()
    return found


def test_a_plan_reads_through_a_table_wherever_in_it_the_scan_is() -> None:
    deep = {"Node Type": "Hash Join", "Plans": [{"Node Type": "Gather", "Plans": [scan("runs")]}, scan("pipelines")]}

    assert read_through([{"Plan": deep}]) == {"runs", "pipelines"}


def test_a_plan_that_finds_its_rows_by_an_index_reads_through_nothing() -> None:
    plan = scan("runs", "Index Only Scan", scan("runs", "Bitmap Heap Scan", {"Node Type": "Result"}))

    assert read_through([{"Plan": plan}]) == set()


async def test_a_sequential_scan_is_found_in_what_postgres_itself_says(connection: asyncpg.Connection) -> None:
    question = "explain (format json) select from runs where pipeline = 'x' and started_at > now()"

    by_index = json.loads(await connection.fetchval(question))
    await connection.execute("set enable_indexscan = off; set enable_bitmapscan = off; set enable_indexonlyscan = off")
    by_scan = json.loads(await connection.fetchval(question))

    assert (read_through(by_index), read_through(by_scan)) == (set(), {"runs"})


async def test_every_view_has_rows(connection: asyncpg.Connection) -> None:
    views = await views_of(connection)

    counts = {view: await connection.fetchval(f"select count(*) from reporting.{view}") for view in views}

    assert [view for view, count in counts.items() if not count] == []


async def test_every_query_can_be_asked_by_an_analyst(connection: asyncpg.Connection) -> None:
    views, subjects = await views_of(connection), await subjects_of(connection, SMALL)
    await connection.execute(SESSION)

    for view in views:
        asked = list(queries_of(view, subjects))
        assert asked
        for query in asked:
            await connection.fetch(query.sql, *query.arguments)


async def test_a_view_that_nobody_asks_is_an_error_that_names_it(database: str) -> None:
    connection = await connect(database, application="tests")
    await connection.execute("create view reporting.forgotten as select 1 as one")

    with pytest.raises(Misconfigured, match="forgotten"):
        await views_of(connection)
    await connection.close()


async def test_there_are_as_many_runs_as_wanted_and_they_lie_by_and_large_in_the_order_of_their_starts(
    connection: asyncpg.Connection,
) -> None:
    correlation = "select correlation from pg_stats where tablename = 'runs' and attname = 'started_at'"

    started = [row["started_at"] for row in await connection.fetch("select started_at from runs")]

    assert len(started) == SMALL.runs
    assert SMALL.since <= min(started) < max(started) <= SMALL.until
    assert await connection.fetchval(correlation) > 0.9


async def test_the_pipelines_that_are_asked_about_are_there_and_differ_in_their_runs(
    connection: asyncpg.Connection,
) -> None:
    count = "select count(*) from reporting.runs where pipeline = $1"

    typical, busiest = await connection.fetchval(count, SMALL.typical), await connection.fetchval(count, SMALL.busiest)

    assert 0 < typical * 4 < busiest
    assert await connection.fetchval("select count(*) from reporting.sla where pipeline = $1", SMALL.typical)


async def test_the_days_of_pipelines_are_those_that_the_sink_would_fold_and_the_newest_wait_to_be_folded(
    connection: asyncpg.Connection,
) -> None:
    days = "select md5(string_agg(d::text, '' order by day, pipeline)) from pipeline_days d"
    marked = await connection.fetchval("select count(*) from stale_days")
    await connection.execute(FOLD, 1_000_000)
    counted = await connection.fetchval(days)

    await connection.execute("insert into stale_days (day, pipeline) select day, pipeline from pipeline_days")
    await connection.execute(FOLD, 1_000_000)

    assert 0 < marked <= UNFOLDED_RUNS * 3
    assert await connection.fetchval(days) == counted


async def test_the_same_seed_makes_the_same_runs_and_another_one_others(
    filled: str, database: str, empty_database: str
) -> None:
    await fill(database, SMALL, tell=lambda _: None)
    await fill(empty_database, replace(SMALL, seed=2), tell=lambda _: None)

    assert await checksum(database) == await checksum(filled)
    assert await checksum(empty_database) != await checksum(filled)


def test_the_month_asked_about_is_the_last_whole_one() -> None:
    assert Size(1, 1, until=NOW).month == (datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    assert Size(1, 1, until=NOW + timedelta(days=35)).month[0] == datetime(2026, 12, 1, tzinfo=UTC)


def test_a_view_is_as_fast_as_its_slowest_query_and_one_that_scans_runs_is_named() -> None:
    answers = [
        Answer(Query("daily", "a month", "", ()), (150.0, 250.0, 260.0), frozenset({"runs"})),
        Answer(Query("daily", "a pipeline", "", ()), (1.0, 900.0, 2.0), frozenset()),
        Answer(Query("sla", "a month", "", ()), (199.0,), frozenset({"pipelines"})),
    ]

    daily, sla, scans = figures_of(answers)

    assert (daily.what, daily.median, daily.verdict) == ("daily: a month", 250.0, "not met")
    assert daily.ratio == "1 of 2 queries within it"
    assert sla.verdict == "met"
    assert (scans.median, scans.ratio, scans.verdict) == (1, "daily", "not met")


@pytest.mark.parametrize("command", block_with("docs/benchmarks.md", ".venv/bin/python -m bench.reporting").commands)
def test_the_command_of_the_guide_is_understood(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, arguments = command.partition("bench.reporting ")
    monkeypatch.setattr(sys, "argv", ["bench.reporting", *shlex.split(arguments, comments=True)])

    given = parse()

    assert (given.runs, given.keep) == (20_000_000, Path("/var/tmp/watchline"))
