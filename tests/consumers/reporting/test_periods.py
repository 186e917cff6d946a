"""reporting.daily, hourly and week_over_week: hand-made runs, expectations reckoned by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import asyncpg
import pytest

from filling.rows import march, pipeline, run, shown

TUESDAY = date(2024, 3, 5)
COUNTS = "runs, succeeded, failed, aborted, unknown, running, error_share"
DURATIONS = "duration_seconds, avg_duration_seconds, median_duration_seconds, p95_duration_seconds"


@pytest.fixture
async def tuesday(connection: asyncpg.Connection) -> None:
    """Eight runs: six ended, four of them with a duration, one goes on and one is lost."""
    await pipeline(connection)
    at = march(5, 10)
    await run(connection, at, 100, inserts=10, updates=1, total_rows=500, anomalous=True)
    await run(connection, at, 200, inserts=20, deletes=2, total_rows=400, overdue=True, attempt=2)
    await run(connection, at, 300, status="failed", inserts=5, backfill=True, attempt=1)
    await run(connection, at, 400, status="aborted", attempt=3)
    await run(connection, at, None, status="unknown", ended_at=at, total_rows=7)
    await run(connection, at, None, status="succeeded", ended_at=at)
    await run(connection, at, None, inserts=1)
    await run(connection, at, None, status="lost")


@pytest.mark.usefixtures("tuesday")
async def test_a_day_counts_runs_by_their_status_and_leaves_running_ones_out_of_the_error_share(
    connection: asyncpg.Connection,
) -> None:
    found = await shown(connection, "daily", f"day, pipeline, pipeline_type, owner, {COUNTS}")

    share = Decimal(2) / Decimal(6)
    ((*facts, error_share),) = found
    assert facts == [TUESDAY, "orders", "load", "sales", 8, 3, 1, 1, 1, 2]
    assert error_share == pytest.approx(share)


@pytest.mark.usefixtures("tuesday")
async def test_a_day_has_the_median_and_the_95th_of_100_of_its_durations(connection: asyncpg.Connection) -> None:
    found = await shown(connection, "daily", DURATIONS)

    assert found == [(1000, 250, 250, 385)]


@pytest.mark.usefixtures("tuesday")
async def test_a_day_sums_rows_and_takes_its_throughput_from_runs_with_both_rows_and_duration(
    connection: asyncpg.Connection,
) -> None:
    found = await shown(connection, "daily", "inserts, updates, deletes, total_rows, throughput")

    assert found == [(36, 1, 2, 907, 3)]  # 900 rows in 300 s


@pytest.mark.usefixtures("tuesday")
async def test_a_day_counts_what_was_odd(connection: asyncpg.Connection) -> None:
    assert await shown(connection, "daily", "anomalous, overdue, backfills, retried") == [(1, 1, 1, 2)]


async def test_a_day_in_which_nothing_ended_has_no_shares_and_zero_sums(connection: asyncpg.Connection) -> None:
    await run(connection, march(5), None)

    found = await shown(connection, "daily", f"error_share, {DURATIONS}, throughput, inserts, total_rows")

    assert found == [(None, 0, None, None, None, None, 0, 0)]


async def test_today_is_included(connection: asyncpg.Connection) -> None:
    now = datetime.now(UTC)
    await run(connection, now, None)
    await run(connection, now - timedelta(days=1))

    found = await shown(connection, "daily", "day, runs, running")

    assert found == [(now.date() - timedelta(days=1), 1, 0), (now.date(), 1, 1)]


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/Los_Angeles"])
async def test_days_hours_and_weeks_are_those_of_utc_wherever_the_reader_is(
    connection: asyncpg.Connection, zone: str
) -> None:
    await connection.execute(f"set timezone = '{zone}'")
    await run(connection, march(10, 23, 59))  # Sunday night
    await run(connection, march(11))

    assert await shown(connection, "daily", "day, runs") == [(date(2024, 3, 10), 1), (date(2024, 3, 11), 1)]
    assert await shown(connection, "hourly", "hour, runs") == [(march(10, 23), 1), (march(11), 1)]
    assert (await shown(connection, "week_over_week", "week, runs"))[:2] == [
        (date(2024, 3, 4), 1), (date(2024, 3, 11), 1),
    ]  # fmt: skip


@pytest.mark.parametrize("view", ["daily", "hourly"])
async def test_a_run_without_a_start_counts_by_its_end_and_one_without_both_nowhere(
    connection: asyncpg.Connection, view: str
) -> None:
    await run(connection, None, 10, ended_at=march(6, 1))
    await run(connection, None, None)

    assert await shown(connection, view, "runs, succeeded") == [(1, 1)]


async def test_sums_beyond_64_bits_do_not_fail(connection: asyncpg.Connection) -> None:
    for _ in range(2):
        await run(connection, march(5), inserts=2**63 - 1, updates=2**63 - 1)

    assert await shown(connection, "daily", "inserts") == [(2**64 - 2,)]
    assert await shown(connection, "week_over_week", "changed_rows", "runs > 0") == [(2**65 - 4,)]


async def test_hours_have_the_columns_of_days(connection: asyncpg.Connection) -> None:
    columns = (
        "select array_agg(column_name::text order by ordinal_position) from information_schema.columns "
        "where table_schema = 'reporting' and table_name = $1"
    )
    days, hours = [await connection.fetchval(columns, view) for view in ("daily", "hourly")]

    assert hours == ["hour", *days[1:]]


async def test_runs_of_one_hour_are_one_row_and_those_of_the_next_another(connection: asyncpg.Connection) -> None:
    for at in (march(5, 10), march(5, 10, 59), march(5, 11)):
        await run(connection, at, 30, inserts=5)

    found = await shown(connection, "hourly", "hour, runs, inserts, duration_seconds")

    assert found == [(march(5, 10), 2, 10, 60), (march(5, 11), 1, 5, 30)]


async def test_a_week_stands_beside_the_one_before(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await run(connection, march(4), 100, inserts=10)
    await run(connection, march(10), 300, updates=10, status="failed")
    await run(connection, march(11), 150, deletes=30)
    await run(connection, march(12), 150)
    await run(connection, march(13), 600, status="aborted")
    await run(connection, march(14), None)

    (found,) = await shown(
        connection,
        "week_over_week",
        "week, pipeline_type, owner, runs, previous_runs, failed, previous_failed, avg_duration_seconds, "
        "previous_avg_duration_seconds, duration_change_share, changed_rows, previous_changed_rows, "
        "changed_rows_change_share, previous_error_share, round(error_share, 6)",
        "week = '2024-03-11'",
    )

    assert found == (
        date(2024, 3, 11), "load", "sales", 4, 2, 1, 1, 300, 200, Decimal("0.5"), 30, 20, Decimal("0.5"),
        Decimal("0.5"), Decimal("0.333333"),
    )  # fmt: skip


async def test_a_first_week_has_nothing_to_compare_with(connection: asyncpg.Connection) -> None:
    await run(connection, march(4), 100, inserts=10)

    found = await shown(
        connection,
        "week_over_week",
        "previous_runs, previous_changed_rows, previous_avg_duration_seconds, previous_error_share, "
        "duration_change_share, changed_rows_change_share",
        "week = '2024-03-04'",
    )

    assert found == [(0, 0, None, None, None, None)]


async def test_a_pipeline_that_has_stopped_has_a_week_without_runs_and_then_no_more(
    connection: asyncpg.Connection,
) -> None:
    await run(connection, march(4), 100)

    found = await shown(connection, "week_over_week", "week, runs, previous_runs, error_share, previous_error_share")

    assert found == [(date(2024, 3, 4), 1, 0, 0, None), (date(2024, 3, 11), 0, 1, None, 0)]


async def test_the_week_to_come_is_not_told(connection: asyncpg.Connection) -> None:
    today = datetime.now(UTC)
    await run(connection, today)

    found = await shown(connection, "week_over_week", "week, runs")

    assert found == [(today.date() - timedelta(days=today.weekday()), 1)]
