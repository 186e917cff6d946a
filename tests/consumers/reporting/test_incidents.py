"""reporting.incidents, mttr and anomalies."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import asyncpg

from filling.rows import incident, march, pipeline, put, shown

OPENED = march(5)


def later(seconds: float) -> Any:
    return OPENED + timedelta(seconds=seconds)


async def test_times_to_resolve_leave_open_incidents_out_and_count_them(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await incident(connection, OPENED, later(100), acknowledged_at=later(10))
    await incident(connection, OPENED, later(200), acknowledged_at=later(50))
    await incident(connection, OPENED, later(900))
    await incident(connection, OPENED, acknowledged_at=later(30))
    await incident(connection, OPENED)

    found = await shown(
        connection,
        "mttr",
        "month, pipeline, pipeline_type, owner, kind, incidents, resolved, open, acknowledged, "
        "mean_acknowledge_seconds, mean_resolve_seconds, median_resolve_seconds, longest_resolve_seconds",
    )

    assert found == [(date(2024, 3, 1), "orders", "load", "sales", "failure", 5, 3, 2, 3, 30, 400, 200, 900)]


async def test_what_nobody_acknowledged_or_resolved_has_no_times(connection: asyncpg.Connection) -> None:
    await incident(connection, OPENED)

    found = await shown(
        connection, "mttr", "incidents, open, mean_acknowledge_seconds, mean_resolve_seconds, median_resolve_seconds"
    )

    assert found == [(1, 1, None, None, None)]


async def test_an_incident_belongs_to_the_month_in_utc_in_which_it_opened(connection: asyncpg.Connection) -> None:
    await connection.execute("set timezone = 'Pacific/Auckland'")
    await incident(connection, march(31, 23, 59), march(31, 23, 59) + timedelta(days=2))
    await incident(connection, march(31, 23, 59), kind="lost")

    found = await shown(connection, "mttr", "kind, month, mean_resolve_seconds")

    assert found == [("failure", date(2024, 3, 1), 172800), ("lost", date(2024, 3, 1), None)]


async def test_an_incident_says_how_long_it_waited_for_somebody(connection: asyncpg.Connection) -> None:
    await incident(connection, OPENED, acknowledged_at=later(90.5))
    await incident(connection, OPENED)

    assert await shown(connection, "incidents", "acknowledge_seconds, status") == [
        (Decimal("90.5"), "acknowledged"), (None, "open"),
    ]  # fmt: skip


async def test_an_anomaly_says_whose_it_is(connection: asyncpg.Connection) -> None:
    await pipeline(connection)
    await put(
        connection, "anomalies", anomaly_id=uuid4(), pipeline="orders", run_id=uuid4(), metric="inserts", value=1.0,
        score=9.0, z_limit=4.5, baseline_runs=30, reason="point", rule="default", run_started_at=OPENED,
        run_ended_at=OPENED, muted=False, revision=1,
    )  # fmt: skip

    assert await shown(connection, "anomalies", "metric, pipeline_type, owner") == [("inserts", "load", "sales")]
