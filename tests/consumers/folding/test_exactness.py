"""The views over stored days give what counting all runs gives, whatever was written since the last fold."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from sinking.records import NOON, after, ended, name_id, slot, started
from sinking.tables import Sinking
from sinking.truth import all_differences, fold_all
from watchline.schemas.records import SinkRecord

MARKS = "select day, pipeline from stale_days order by 1, 2"
STORED = "select day, runs, succeeded, running from pipeline_days where runs > 0 order by day, pipeline"
MONDAY = date(2026, 11, 30)


async def test_a_batch_marks_each_day_that_it_touches_once(sinking: Sinking) -> None:
    await sinking.store(
        started("a"),
        started("b", revision=2),
        started("c", revision=3, started_at=after(days=1)),
        ended("d", revision=4, pipeline="billing"),
        slot(revision=5, due_at=after(days=2)),
    )

    marks = [tuple(row) for row in await sinking.connection.fetch(MARKS)]
    assert marks == [
        (MONDAY, "billing"),
        (MONDAY, "orders_daily"),
        (date(2026, 12, 1), "orders_daily"),
        (date(2026, 12, 2), "orders_daily"),
    ]
    assert await all_differences(sinking.connection) == {}


async def test_a_marked_day_gets_no_second_mark(sinking: Sinking) -> None:
    await sinking.store(started("a"))

    await sinking.store(started("b", revision=2), ended("a", revision=3))

    assert len(await sinking.connection.fetch(MARKS)) == 1
    assert await all_differences(sinking.connection) == {}


async def test_what_is_folded_is_stored_and_marked_no_more(sinking: Sinking) -> None:
    await sinking.store(started("a"), ended("b", revision=2))

    assert await fold_all(sinking.connection) == 1

    assert await sinking.connection.fetch(MARKS) == []
    assert [tuple(row) for row in await sinking.connection.fetch(STORED)] == [(MONDAY, 2, 1, 1)]
    assert await sinking.connection.fetchval("select runs from pipeline_weeks") == 2
    assert await all_differences(sinking.connection) == {}


async def test_an_end_that_comes_late_counts_on_the_day_of_the_start(sinking: Sinking) -> None:
    await sinking.store(started("a"))
    await fold_all(sinking.connection)

    await sinking.store(ended("a", ended_at=after(days=3), duration_seconds=259_200))

    before = await sinking.connection.fetchval("select succeeded from reporting.daily")
    assert before == 1
    assert await fold_all(sinking.connection) == 1
    assert [tuple(row) for row in await sinking.connection.fetch(STORED)] == [(MONDAY, 1, 1, 0)]
    assert await all_differences(sinking.connection) == {}


@pytest.mark.parametrize("moved", [after(days=1), after(days=-9), after(hours=1)])
async def test_a_run_whose_start_moves_leaves_the_day_where_it_was(moved: datetime, sinking: Sinking) -> None:
    await sinking.store(started("a"), started("b", revision=2))
    await fold_all(sinking.connection)

    await sinking.store(ended("a", revision=3, started_at=moved, ended_at=moved + timedelta(minutes=5)))

    assert await all_differences(sinking.connection) == {}
    await fold_all(sinking.connection)
    assert sum(row["runs"] for row in await sinking.connection.fetch(STORED)) == 2
    assert await all_differences(sinking.connection) == {}


async def test_a_day_that_its_last_run_left_is_gone(sinking: Sinking) -> None:
    await sinking.store(started("a"))
    await fold_all(sinking.connection)

    await sinking.store(started("a", revision=2, started_at=after(days=20)))
    await fold_all(sinking.connection)

    assert [row["day"] for row in await sinking.connection.fetch(STORED)] == [date(2026, 12, 20)]
    assert await sinking.connection.fetchval("select count(*) from pipeline_weeks") == 1


async def test_a_run_without_a_start_is_of_the_day_of_its_end_until_the_start_is_known(sinking: Sinking) -> None:
    await sinking.store(ended("a", started_at=None))
    await fold_all(sinking.connection)
    assert await all_differences(sinking.connection) == {}

    await sinking.store(started("a", revision=3, started_at=after(days=-2)))

    assert await all_differences(sinking.connection) == {}
    await fold_all(sinking.connection)
    assert [row["day"] for row in await sinking.connection.fetch(STORED)] == [date(2026, 11, 28)]


async def test_a_slot_counts_when_it_is_decided_and_again_when_that_changes(sinking: Sinking) -> None:
    await sinking.store(slot())
    await fold_all(sinking.connection)
    assert await sinking.connection.fetchval("select count(*) from reporting.sla where due > 0") == 0

    for revision, state in ((3, "missed"), (4, "late"), (5, "unknown"), (6, "met")):
        await sinking.store(slot(revision=revision, state=state))
        assert await all_differences(sinking.connection) == {}
        await fold_all(sinking.connection)
        assert await all_differences(sinking.connection) == {}

    found = await sinking.connection.fetchrow("select met, late, missed, unknown from reporting.sla where due > 0")
    assert found is not None
    assert tuple(found) == (1, 0, 0, 0)


@pytest.mark.parametrize(
    "statement",
    [
        "delete from runs where run_id = $1",
        "update runs set started_at = started_at - interval '40 days' where run_id = $1",
        "update runs set started_at = null, ended_at = null where run_id = $1",
        "update runs set total_rows = 17, duration_seconds = 3 where run_id = $1",
        "with gone as (delete from expected_runs returning 1) update runs set anomalous = true where run_id = $1",
    ],
)
async def test_what_others_than_the_sink_write_counts_as_well(statement: str, sinking: Sinking) -> None:
    await sinking.store(ended("a"), ended("b", revision=3), slot(revision=4, state="met"))
    await fold_all(sinking.connection)

    await sinking.connection.execute(statement, name_id("a"))

    assert await all_differences(sinking.connection) == {}
    await fold_all(sinking.connection)
    assert await all_differences(sinking.connection) == {}


@pytest.mark.parametrize("table", ["runs", "expected_runs"])
async def test_a_table_that_is_emptied_leaves_no_counts(table: str, sinking: Sinking) -> None:
    await sinking.store(ended("a"), slot(revision=4, state="met"))
    await fold_all(sinking.connection)

    await sinking.connection.execute(f"truncate {table}")

    assert await all_differences(sinking.connection) == {}
    await fold_all(sinking.connection)
    assert await all_differences(sinking.connection) == {}


@pytest.mark.parametrize("seed", range(6))
async def test_a_random_history_is_exact_after_each_batch_and_each_fold(seed: int, sinking: Sinking) -> None:
    chance = random.Random(seed)
    for number in range(12):
        await sinking.store(*(record(chance, number * 100 + place) for place in range(chance.randint(1, 25))))
        assert await all_differences(sinking.connection) == {}
        if chance.random() < 0.5:
            await sinking.connection.fetchval("select fold_days($1)", chance.choice((1, 3, 50)))
            assert await all_differences(sinking.connection) == {}

    await fold_all(sinking.connection)

    assert await all_differences(sinking.connection) == {}
    assert await sinking.connection.fetch(MARKS) == []


def record(chance: random.Random, revision: int) -> SinkRecord:
    """A start, an end or a slot of one of three pipelines, within three weeks around midnights."""
    pipeline = chance.choice(("a", "b", "c"))
    at = NOON.replace(hour=0) + timedelta(days=chance.randint(-10, 10), seconds=chance.randint(-90, 90))
    fields: dict[str, Any] = {"pipeline": pipeline, "revision": revision + 1}
    name = f"{pipeline} {chance.randint(1, 15)}"
    kind = chance.random()
    if kind < 0.2:
        return slot(
            due_at=at, state=chance.choice(("expected", "met", "late", "missed", "excused", "unknown")), **fields
        )
    if kind < 0.5:
        return started(name, started_at=chance.choice((at, at, None)), attempt=chance.choice((1, 1, 2)), **fields)
    duration = chance.choice((None, 0, 1.5, chance.uniform(0, 1e6)))
    return ended(
        name,
        started_at=chance.choice((at, None)),
        ended_at=at + timedelta(seconds=duration or 60),
        status=chance.choice(("succeeded", "failed", "aborted", "unknown")),
        duration_seconds=duration,
        inserts=chance.choice((None, 0, 2**63 - 1)),
        total_rows=chance.choice((None, 0, 12_345)),
        anomalous=chance.random() < 0.3,
        overdue=chance.random() < 0.3,
        backfill=chance.choice((None, True, False)),
        attempt=chance.choice((1, 2)),
        **fields,
    )


async def test_a_filter_by_pipeline_or_time_reads_no_table_of_runs_from_end_to_end(sinking: Sinking) -> None:
    await sinking.store(*(ended(f"{n}", revision=n + 1, started_at=after(days=n)) for n in range(20)))
    await fold_all(sinking.connection)
    await sinking.store(started("new", revision=99))
    await sinking.connection.execute("set enable_seqscan = off")  # where there is another way it is taken

    for view, times in (
        ("daily", "day >= '2026-12-01'"),
        ("hourly", "hour >= '2026-12-01'"),
        ("week_over_week", "week >= '2026-12-01'"),
        ("sla", "month = '2026-12-01'"),
        ("runs", "started_at >= '2026-12-01'"),
    ):
        for condition in (times, "pipeline = 'orders_daily'"):
            plan = await plan_of(sinking.connection, f"select * from reporting.{view} where {condition}")
            assert "Seq Scan on runs" not in plan, (view, condition)
            assert "Seq Scan on expected_runs" not in plan, (view, condition)


async def plan_of(connection: asyncpg.Connection, query: str) -> str:
    return "\n".join(row[0] for row in await connection.fetch(f"explain {query}"))
