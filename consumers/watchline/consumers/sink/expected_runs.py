"""Writing `expected_runs`: the slots of scheduled pipelines."""

from __future__ import annotations

import asyncpg

from watchline.consumers.sink.findings import newest_of, row_of
from watchline.consumers.sink.statements import rows, upsert
from watchline.schemas.records import ExpectedRunRecord

EXPECTED_RUNS = upsert(
    "expected_runs",
    "pipeline due_at",
    "pipeline due_at state reason timezone grace_seconds run_id started_at decided_at until revision",
)


async def store_expected_runs(connection: asyncpg.Connection, records: list[ExpectedRunRecord]) -> None:
    """Store the present state of each expected start."""
    if records:
        newest = newest_of(records, lambda record: (record.pipeline, record.due_at))
        await connection.execute(EXPECTED_RUNS, rows(map(row_of, newest)))
