"""Who may read the views, and what reading them costs: which tables and indexes a plan touches."""

from __future__ import annotations

from datetime import date
from uuid import uuid4

import asyncpg
import pytest

from filling.rows import MARCH, alert, incident, march, pipeline, run, shown, slot
from security.logins import login
from stack.contents import rows
from watchline.consumers.roles import READER

VIEWS = "select relname from pg_class where relnamespace = 'reporting'::regnamespace and relkind = 'v' order by 1"
OF_ONE = ("runs", "daily", "hourly", "week_over_week", "pipelines", "sla", "mttr", "incidents", "anomalies", "delivery")


async def test_a_reader_may_read_every_view(database: str) -> None:
    connection = await asyncpg.connect(database)
    await pipeline(connection, freshness_seconds=60, watermark_kind="timestamp")
    await run(connection)
    await incident(connection)
    await alert(connection)
    await slot(connection, MARCH, "met")
    await connection.close()

    async with login(database, READER) as reader:
        counts = {
            view: len(await rows(reader, f"select * from reporting.{view}")) for (view,) in await rows(reader, VIEWS)
        }

    for view in ("runs", "run_tree", "pipelines", "daily", "hourly", "incidents", "mttr", "sla", "delivery"):
        assert counts[view] > 0, view
    assert {"week_over_week", "anomalies", "alert_load", "expected_runs"} <= set(counts)


@pytest.mark.parametrize("view", OF_ONE)
async def test_a_view_of_one_pipeline_finds_its_rows_by_an_index(connection: asyncpg.Connection, view: str) -> None:
    name = "pipeline" if view != "delivery" else "kind"
    plan = await plan_of(connection, f"select * from reporting.{view} where pipeline = 'orders' and {name} > ''")

    assert "Seq Scan on runs" not in plan
    assert "Seq Scan on incidents" not in plan
    assert "Seq Scan on expected_runs" not in plan


async def test_a_family_is_found_by_an_index(connection: asyncpg.Connection) -> None:
    plan = await plan_of(connection, f"select * from reporting.run_tree where run_id = '{uuid4()}'")

    assert "Seq Scan" not in plan


@pytest.mark.parametrize(
    ("query", "untouched"),
    [
        ("select run_id, status from reporting.runs", {"run_ancestry", "pipelines"}),
        ("select pipeline, owner from reporting.pipelines", {"incidents", "expected_runs", "watermarks", "changed"}),
        ("select metric, score from reporting.anomalies", {"pipelines"}),
        ("select alert_id, state from reporting.delivery", {"alert_deliveries", "alert_messages"}),
        ("select month, met_share from reporting.sla where month > '2024-01-01'", {"runs"}),
    ],
)
async def test_what_is_not_asked_for_is_not_looked_up(
    connection: asyncpg.Connection, query: str, untouched: set[str]
) -> None:
    plan = await plan_of(connection, query)

    assert {table for table in untouched if f" on {table}" in plan} == set()


async def test_the_last_success_is_found_without_reading_all_runs_of_a_pipeline(
    connection: asyncpg.Connection,
) -> None:
    await pipeline(connection)
    await connection.execute(
        "insert into runs (run_id, pipeline, started_at, ended_at, status, revision) select gen_random_uuid(), "
        "'orders', $1::timestamptz + n * interval '1 minute', $1::timestamptz + n * interval '1 minute', "
        "'succeeded', n from generate_series(1, 5000) n",
        march(1),
    )
    await connection.execute("analyze runs")

    read = await connection.fetch("explain (analyze, timing off) select last_success_at from reporting.pipelines")

    assert max(rows_of(str(line[0])) for line in read) < 10
    assert await shown(connection, "pipelines", "last_success_at::date") == [(date(2024, 3, 4),)]


def rows_of(line: str) -> float:
    """How many rows a step of a plan gave."""
    _, found, counted = line.partition("actual rows=")
    return float(counted.split()[0]) if found else 0.0


async def plan_of(connection: asyncpg.Connection, query: str) -> str:
    """The plan, with a sequential scan only where no index could do."""
    await connection.execute("set enable_seqscan = off")
    return "\n".join(row[0] for row in await connection.fetch(f"explain {query}"))
