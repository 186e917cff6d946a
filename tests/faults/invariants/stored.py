"""What stands in Postgres, in the shapes that the invariants compare."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from typing import Any
from uuid import UUID

import asyncpg

from faults.invariants.effects import Letter, Origin
from stack.contents import RUNS, rows
from stack.oracle import AnomalyRow, IncidentRow, RunRow

CHUNK = 2000
EFFECTS = """
select 'started', run_id from runs where started_at is not null
union all select 'ended', end_event_id from runs where end_event_id is not null
union all select 'watermark', event_id from watermark_history
"""
ANOMALIES = """
select anomaly_id, run_id, metric, value::float8, score::float8, baseline_runs from anomalies
"""
# The one about ingestion is not from the log.
INCIDENTS = "select incident_id, pipeline, kind, status, opened_at, resolved_at from incidents where revision > 0"
WATERMARKS = "select pipeline, dataset, effective, regressions from watermarks"
LETTERS = """
select source_topic, source_partition, source_offset, reason, key, value, headers from dead_letters
where source_topic = any($1)
"""
# The last thing that people had to hear of each incident; its number and the start of its id stand in the message.
ALERTS = """
select distinct on (incident_id) left(incident_id::text, 8), transition_no from alert_outbox
where state <> 'suppressed' order by incident_id, transition_no desc
"""
COLUMNS = """
select table_name, column_name, data_type from information_schema.columns
where table_schema = 'public' and data_type in ('numeric', 'double precision', 'timestamp with time zone')
"""
UNFIT = {
    "numeric": "{0} in ('NaN', 'Infinity', '-Infinity')",
    "double precision": "{0} in ('NaN', 'Infinity', '-Infinity')",
    "timestamp with time zone": "{0} < '1970-01-01' or {0} >= '2100-01-01'",
}
FOR_EVER = ("alert_outbox", "next_attempt_at")  # infinity says that nothing is to be sent again


async def stream(dsn: str, query: str, *arguments: object) -> AsyncIterator[tuple[Any, ...]]:
    """The rows of a query, never many of them in memory."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction(readonly=True):
            async for row in connection.cursor(query, *arguments, prefetch=CHUNK):
                yield tuple(row)
    finally:
        await connection.close()


async def runs_of(dsn: str, condense: Callable[[RunRow], Any] = lambda row: row) -> list[tuple[UUID, Any]]:
    """Id and row of every run; `condense` as for the plain fold."""
    return [(row[0], condense(row)) async for row in stream(dsn, RUNS)]


async def effects_of(dsn: str) -> list[tuple[str, UUID]]:
    """The events whose effect can be told in Postgres: starts by run, ends and watermarks by event."""
    return [(kind, identity) async for kind, identity in stream(dsn, EFFECTS)]


async def anomalies_of(dsn: str) -> list[tuple[UUID, AnomalyRow]]:
    return [(row[0], row[1:]) for row in await rows(dsn, ANOMALIES)]


async def incidents_of(dsn: str) -> list[tuple[UUID, IncidentRow]]:
    return [(row[0], row[1:]) for row in await rows(dsn, INCIDENTS)]


async def watermarks_of(dsn: str) -> list[tuple[tuple[str, str], tuple[str, int]]]:
    """Pipeline and dataset, then the effective watermark and how often it was asked to go back."""
    return [((row[0], row[1]), (row[2], row[3])) for row in await rows(dsn, WATERMARKS)]


async def letters_of(dsn: str, topics: tuple[str, ...]) -> list[tuple[Origin, Letter]]:
    """Every dead letter of these source topics."""
    return [
        (Origin(*row[:3]), Letter(row[3], row[4], row[5], headers_in(row[6])))
        async for row in stream(dsn, LETTERS, list(topics))
    ]


def headers_in(text: str) -> tuple[tuple[str, bytes | None], ...]:
    """Names and bytes from the JSON of a dead letter."""
    return tuple((name, None if value is None else base64.b64decode(value)) for name, value in json.loads(text))


async def alerts_of(dsn: str) -> set[tuple[str, int]]:
    """Start of the id and number of the last alert of each incident: a message tells the transitions of one in one."""
    return {(row[0], row[1]) for row in await rows(dsn, ALERTS)}


async def unfit_values(dsn: str) -> list[tuple[str, float]]:
    """Columns with a number that is none, or a time outside the window, in the shape of `finite_values`."""
    found: list[tuple[str, float]] = []
    for table, column, kind in await rows(dsn, COLUMNS):
        if (table, column) != FOR_EVER:
            ((count,),) = await rows(dsn, f"select count(*) from {table} where {UNFIT[kind].format(column)}")
            found += [(f"{table}.{column}, {count} rows", float("nan"))] if count else []
    return found
