"""reporting.pipelines: how each pipeline stands now, reckoned from rows that stand at a known distance from now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from filling.rows import advance, incident, march, pipeline, run, shown, slot

NOW = datetime.now(UTC)
HOUR = timedelta(hours=1)
ODD = [
    "", "garbage", "now", "infinity", "tomorrow", "12", "0000-00-00", "2024-13-45", "2024-02-30", "2024-03-05T25:00",
    "2024-03-05 10:00 Nowhere/City", "999999-01-01", "2024-03-05; drop table runs", "2024-03-05T10:00+99:00",
    "٢٠٢٤-٠٣-٠٥", "2024-W10-1", "20240305T10Z junk", "2024-03-05" * 50,
]  # fmt: skip


@pytest.mark.parametrize("watermark", ODD)
async def test_a_watermark_that_is_no_time_has_no_lag_and_raises_no_error(
    connection: asyncpg.Connection, watermark: str
) -> None:
    await pipeline(connection)
    await advance(connection, watermark, NOW)

    assert await shown(connection, "pipelines", "last_watermark, watermark_lag_seconds") == [(watermark, None)]


@pytest.mark.parametrize(
    "form", ["%Y-%m-%dT%H:%M:%S+00:00", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S", "%Y%m%dT%H%M%S"]
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
async def test_the_lag_counts_from_the_time_that_a_watermark_names_in_utc(
    connection: asyncpg.Connection, form: str, zone: str
) -> None:
    await connection.execute(f"set timezone = '{zone}'")
    await pipeline(connection)
    await advance(connection, (NOW - 2 * HOUR).strftime(form), NOW)

    ((lag,),) = await shown(connection, "pipelines", "watermark_lag_seconds")

    assert 7200 <= lag <= 7200 + waited() + 1


def waited() -> float:
    """Seconds since `NOW`, when these tests were collected; a watermark in whole seconds is up to one older."""
    return (datetime.now(UTC) - NOW).total_seconds()


@pytest.mark.parametrize("kind", ["text", "integer"])
async def test_only_a_watermark_of_times_has_a_lag(connection: asyncpg.Connection, kind: str) -> None:
    await pipeline(connection)
    await advance(connection, "2024-03-05", NOW, kind=kind)

    assert await shown(connection, "pipelines", "watermark_lag_seconds") == [(None,)]


async def test_a_watermark_ahead_of_its_sending_hides_no_lag(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await advance(connection, "2999-01-01", NOW - 3 * HOUR)

    ((lag,),) = await shown(connection, "pipelines", "watermark_lag_seconds")

    assert 3 * 3600 <= lag <= 3 * 3600 + waited() + 1


async def test_the_age_of_data_counts_from_the_last_change_and_not_from_a_backfill(
    connection: asyncpg.Connection,
) -> None:
    await pipeline(connection)
    await run(connection, NOW - 3 * HOUR, 3600, updates=1)
    await run(connection, NOW - 2 * HOUR, 60, inserts=0)
    await run(connection, NOW - HOUR, 60, inserts=9, backfill=True)

    ((changed, age),) = await shown(connection, "pipelines", "last_change_at, data_age_seconds")

    assert changed == NOW - 2 * HOUR
    assert 7200 <= age <= 7200 + waited() + 1


async def test_nothing_loaded_has_no_age(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await run(connection, NOW - HOUR)

    assert await shown(connection, "pipelines", "last_change_at, data_age_seconds") == [(None, None)]


async def test_an_end_whose_start_was_never_heard_of_hides_no_later_one(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await run(connection, None, 60, ended_at=march(5), inserts=1)
    await run(connection, march(6), 60, inserts=1)
    await run(connection, march(7), 60, status="failed")

    found = await shown(connection, "pipelines", "last_success_at, last_change_at, last_status, last_started_at")

    after = march(6, 0, 1)
    assert found == [(after, after, "failed", march(7))]


async def test_an_end_whose_start_was_never_heard_of_counts_when_it_is_the_newest(
    connection: asyncpg.Connection,
) -> None:
    await pipeline(connection)
    await run(connection, march(6), 60, inserts=1)
    await run(connection, None, 60, ended_at=march(8), inserts=1)

    assert await shown(connection, "pipelines", "last_success_at, last_change_at") == [(march(8), march(8))]


async def test_a_schedule_says_when_it_is_due_next(connection: asyncpg.Connection) -> None:
    await pipeline(connection, schedule_cron="0 * * * *", schedule_timezone="Europe/Berlin")
    await slot(connection, NOW - 2 * HOUR, "met")
    await slot(connection, NOW - HOUR, "expected")  # within its grace
    await slot(connection, NOW + HOUR, "expected")
    await slot(connection, NOW + 2 * HOUR, "excused", reason="changed")

    found = await shown(connection, "pipelines", "schedule_cron, schedule_timezone, next_due_at")

    assert found == [("0 * * * *", "Europe/Berlin", NOW + HOUR)]


async def test_open_incidents_that_fail_are_counted_apart(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await incident(connection)
    await incident(connection, kind="lost")
    await incident(connection, kind="anomaly", severity="warn")
    await incident(connection, resolved=march(5))
    await incident(connection, pipeline="other")

    assert await shown(connection, "pipelines", "open_incidents, open_fail_incidents") == [(3, 2)]


async def test_freshness_is_the_worst_that_an_open_incident_says(connection: asyncpg.Connection) -> None:
    for name, severity in (("aging", "warn"), ("stale", "fail")):
        await pipeline(connection, name, freshness_seconds=60)
        await incident(connection, pipeline=name, kind="freshness", severity=severity)
    await incident(connection, pipeline="stale", kind="freshness", severity="warn", fingerprint="another")
    await pipeline(connection, "unknown", freshness_seconds=60)
    await pipeline(connection, "without a limit")

    found = await shown(connection, "pipelines", "pipeline, freshness")

    assert found == [("aging", "aging"), ("stale", "stale"), ("unknown", "unknown"), ("without a limit", None)]
