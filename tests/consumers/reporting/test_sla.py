"""reporting.sla: the starts of a month and the time in which data was fresh."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import asyncpg
import pytest

from filling.rows import incident, march, pipeline, put, shown, slot, transition

FEBRUARY, MARCH, APRIL = date(2024, 2, 1), date(2024, 3, 1), date(2024, 4, 1)
DAY = 86400
FRESHNESS = "month, stale_seconds, round(fresh_share, 6)"
EARLY = datetime(2024, 2, 1, tzinfo=UTC)


async def stale(
    connection: asyncpg.Connection,
    opened: datetime,
    resolved: datetime | None,
    severity: str = "fail",
    *,
    of: str = "orders",
) -> UUID:
    return await incident(connection, opened, resolved, kind="freshness", severity=severity, pipeline=of)


async def spring(connection: asyncpg.Connection, columns: str = FRESHNESS) -> list[tuple[object, ...]]:
    return await shown(connection, "sla", columns, "month between '2024-02-01' and '2024-04-01'")


async def test_starts_count_by_month_and_excused_or_unseen_ones_are_not_due(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    for day, state in enumerate(["met"] * 5 + ["late", "missed", "missed", "excused", "unknown", "expected"], 1):
        await slot(connection, march(day), state)
    await slot(connection, march(31) + timedelta(hours=23, minutes=59), "met")
    await slot(connection, march(31) + timedelta(days=1), "missed")
    await slot(connection, march(31) + timedelta(days=40), "expected")

    found = await shown(
        connection,
        "sla",
        "month, pipeline_type, owner, due, met, late, missed, excused, unknown, met_share, missed_share, "
        "stale_seconds, fresh_share",
    )

    assert [row[:9] for row in found] == [
        (MARCH, "load", "sales", 9, 6, 1, 2, 1, 1), (APRIL, "load", "sales", 1, 0, 0, 1, 0, 0),
    ]  # fmt: skip
    assert [float(row[9]) for row in found] == pytest.approx([6 / 9, 0])
    assert [float(row[10]) for row in found] == pytest.approx([2 / 9, 1])
    assert [row[11:] for row in found] == [(0, None), (0, None)]


async def test_a_stale_time_across_the_border_of_a_month_counts_in_both(connection: asyncpg.Connection) -> None:
    await pipeline(connection, freshness_seconds=3600, first_seen_at=EARLY)
    await stale(connection, datetime(2024, 2, 28, tzinfo=UTC), march(4))  # a leap year: two days and three

    found = await spring(connection)

    shares = [1 - Decimal(2) / 29, 1 - Decimal(3) / 31, Decimal(1)]
    assert found == [
        (FEBRUARY, 2 * DAY, round(shares[0], 6)), (MARCH, 3 * DAY, round(shares[1], 6)), (APRIL, 0, 1),
    ]  # fmt: skip


async def test_a_warning_is_stale_only_from_when_it_failed(connection: asyncpg.Connection) -> None:
    await pipeline(connection, freshness_seconds=3600, first_seen_at=EARLY)
    grown = await stale(connection, march(2), march(5))
    await transition(connection, grown, march(2))
    await transition(connection, grown, march(4), transition_no=2, transition="updated", severity="fail")
    await transition(connection, grown, march(5), transition_no=3, transition="resolved", severity="fail")
    await stale(connection, march(10), march(12), "warn")

    assert (MARCH, DAY, round(1 - Decimal(1) / 31, 6)) in await spring(connection)


async def test_a_failure_of_another_kind_makes_nothing_stale(connection: asyncpg.Connection) -> None:
    await pipeline(connection, freshness_seconds=3600, first_seen_at=EARLY)
    await incident(connection, march(2), march(3))

    assert (MARCH, 0, 1) in await spring(connection)


async def test_times_that_overlap_count_once_and_one_that_ended_before_it_began_not_at_all(
    connection: asyncpg.Connection,
) -> None:
    await pipeline(connection, freshness_seconds=3600, first_seen_at=EARLY)
    await stale(connection, march(2), march(4))
    await stale(connection, march(3), march(5))
    await stale(connection, march(20), march(19))

    assert (MARCH, 3 * DAY, round(1 - Decimal(3) / 31, 6)) in await spring(connection)


async def test_the_month_of_the_first_declaration_counts_from_then(connection: asyncpg.Connection) -> None:
    await pipeline(connection, freshness_seconds=3600)  # first heard of, by this database, today
    for day in (22, 27):
        await put(
            connection, "pipeline_versions", pipeline="orders", config_hash=uuid4().hex, declaration="{}",
            first_declared_at=march(day), last_declared_at=march(day), first_revision=1, last_revision=1,
        )  # fmt: skip
    await stale(connection, march(23), march(24))

    assert await spring(connection) == [(MARCH, DAY, Decimal("0.9")), (APRIL, 0, 1)]


async def test_without_a_limit_only_the_stale_months_are_listed_and_have_no_share(
    connection: asyncpg.Connection,
) -> None:
    await pipeline(connection, first_seen_at=EARLY)
    await stale(connection, march(2), march(3))

    assert await shown(connection, "sla", FRESHNESS) == [(MARCH, DAY, None)]


@pytest.mark.parametrize("limit", ["own", "type", "lag"])
async def test_a_limit_may_be_its_own_or_its_types_or_about_its_watermark(
    connection: asyncpg.Connection, limit: str
) -> None:
    if limit == "type":
        await put(connection, "pipeline_types", type="load", freshness_seconds=60)
    declaration = '{"freshness": {"max_lag_seconds": 60}}' if limit == "lag" else None
    await pipeline(
        connection, freshness_seconds=60 if limit == "own" else None, declaration=declaration, first_seen_at=march(1)
    )

    assert (MARCH, 0, 1) in await spring(connection)


async def test_the_present_month_counts_until_now(connection: asyncpg.Connection) -> None:
    now = datetime.now(UTC)
    since = now - timedelta(hours=1)
    await pipeline(connection, freshness_seconds=60, first_seen_at=since)
    await stale(connection, since, None)

    found = await shown(connection, "sla", "month, stale_seconds, fresh_share")

    month, seconds, share = found[-1]
    assert month == now.date().replace(day=1)
    assert 0 < seconds < 3600 + 300
    assert share == 0  # all of the time that has passed


async def test_months_are_those_of_utc_wherever_the_reader_is(connection: asyncpg.Connection) -> None:
    await connection.execute("set timezone = 'America/Los_Angeles'")
    await pipeline(connection, first_seen_at=EARLY)
    await slot(connection, datetime(2024, 4, 1, 1, tzinfo=UTC), "met")
    await stale(connection, march(1), march(2))

    assert await shown(connection, "sla", "month, met, stale_seconds") == [(MARCH, 0, DAY), (APRIL, 1, 0)]


async def test_a_month_whose_incidents_are_pruned_is_not_called_fresh(connection: asyncpg.Connection) -> None:
    await pipeline(connection, freshness_seconds=3600, first_seen_at=EARLY)
    await stale(connection, march(2), march(3))
    await put(connection, "retention", table_name="incidents", noted_at=march(1), kept_from=march(1))
    assert [row[2] is None for row in await spring(connection)] == [True, False, False]

    await connection.execute("update retention set kept_from = $1", march(1) + timedelta(microseconds=1))

    assert [row[2] is None for row in await spring(connection)] == [True, True, False]
