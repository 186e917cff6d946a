"""What stands in Postgres, in the shape of the oracle."""

from __future__ import annotations

from typing import Any

import asyncpg

from stack.oracle import AnomalyRow, Expected, IncidentRow, RunRow, SlotRow

RUNS = """
select run_id, status, started_at, ended_at, duration_seconds::float8, total_rows, anomalous from runs order by run_id
"""
ANOMALIES = "select run_id, metric, value::float8, score::float8, baseline_runs from anomalies order by run_id, metric"
INCIDENTS = "select pipeline, kind, status, opened_at, resolved_at from incidents order by pipeline, kind, opened_at"

SLOTS = "select pipeline, due_at, state, run_id, started_at from expected_runs order by pipeline, due_at"


async def rows(dsn: str, query: str, *arguments: object) -> list[tuple[Any, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(query, *arguments)]
    finally:
        await connection.close()


async def value(dsn: str, query: str, *arguments: object) -> Any:
    ((found,),) = await rows(dsn, query, *arguments)
    return found


async def assert_equal(dsn: str, expected: Expected) -> None:
    """Postgres holds exactly the runs, anomalies, incidents and expected starts of the oracle."""
    runs: list[RunRow] = sorted(expected.runs.values())
    anomalies: list[AnomalyRow] = sorted(expected.anomalies.values())
    incidents: list[IncidentRow] = sorted(expected.incidents.values(), key=str)
    slots: list[SlotRow] = [expected.slots[place] for place in sorted(expected.slots)]
    assert await rows(dsn, RUNS) == runs
    assert await rows(dsn, SLOTS) == slots
    assert sorted(await rows(dsn, ANOMALIES)) == anomalies
    assert sorted(await rows(dsn, INCIDENTS), key=str) == incidents
