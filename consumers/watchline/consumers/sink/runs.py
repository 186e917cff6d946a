"""Writing `runs`: new ones by COPY, known ones by an upsert that merges by the rules of `merging`.

COPY straight into the table takes about half of Postgres's time for a staging table and an upsert: no second copy, no
speculative insertion, whole pages of rows in the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from watchline.consumers.sink.merging import merge_runs
from watchline.consumers.sink.run_rows import RunRow

COLUMNS = [
    "run_id",
    "pipeline",
    "parent_run_id",
    "attempt",
    "started_at",
    "nominal_at",
    "backfill",
    "heartbeat_seconds",
    "watermark",
    "next_watermark",
    "last_heartbeat_at",
    "status",
    "reported_status",
    "end_event_id",
    "ended_at",
    "duration_seconds",
    "inserts",
    "updates",
    "deletes",
    "total_rows",
    "throughput",
    "metrics",
    "error_type",
    "error_message",
    "overdue",
    "anomalous",
    "flags",
    "labels_started",
    "labels_ended",
    "metadata_started",
    "metadata_ended",
    "producer_host",
    "revision",
]
# What a connection needs. A plan kept for later batches would be that of an empty table long after it has grown.
SESSION = f"""
set plan_cache_mode = force_custom_plan;
create temporary table staged_runs on commit delete rows as select {", ".join(COLUMNS)} from runs with no data
"""  # noqa: S608 - constants
EMPTY = "truncate staged_runs"
KNOWN = "select run_id from unnest($1::uuid[]) as one (run_id) join runs using (run_id)"

SAME_END = "excluded.end_event_id is not distinct from runs.end_event_id"
TAKES_END = (
    "(runs.end_event_id is null or (excluded.end_event_id is not null "
    "and (coalesce(excluded.ended_at, '-infinity'), excluded.end_event_id) "
    ">= (coalesce(runs.ended_at, '-infinity'), runs.end_event_id)))"
)
KEPT_WHEN_NULL = [
    "parent_run_id",
    "attempt",
    "started_at",
    "nominal_at",
    "backfill",
    "heartbeat_seconds",
    "watermark",
    "next_watermark",
    "last_heartbeat_at",
    "labels_started",
    "labels_ended",
    "metadata_started",
    "metadata_ended",
    "producer_host",
]
GOING_WITH_THE_END = [
    "status",
    "reported_status",
    "end_event_id",
    "ended_at",
    "duration_seconds",
    "inserts",
    "updates",
    "deletes",
    "total_rows",
    "throughput",
]
# The streams send these once, with the end they belong to.
SENT_ONCE = {"metrics": "'{}'", "error_type": "null", "error_message": "null"}
MERGED = ", ".join(
    (
        *(f"{name} = coalesce(excluded.{name}, runs.{name})" for name in KEPT_WHEN_NULL),
        *(f"{name} = case when {TAKES_END} then excluded.{name} else runs.{name} end" for name in GOING_WITH_THE_END),
        *(
            f"{name} = case when not {TAKES_END} or ({SAME_END} and excluded.{name} is not distinct from {nothing}) "
            f"then runs.{name} else excluded.{name} end"
            for name, nothing in SENT_ONCE.items()
        ),
        f"anomalous = case when {TAKES_END} then excluded.anomalous or (runs.anomalous and {SAME_END}) "
        "else runs.anomalous end",
        "overdue = runs.overdue or excluded.overdue",
        "flags = case when excluded.flags = '{}' then runs.flags else excluded.flags end",
        "revision = excluded.revision",
        "stored_at = now()",
    )
)
# A run belongs to one pipeline: revisions of two pipelines come from two partitions and can't be compared.
UPSERT = (
    f"insert into runs ({', '.join(COLUMNS)}) select {', '.join(COLUMNS)} from staged_runs order by run_id "  # noqa: S608
    f"on conflict (run_id) do update set {MERGED} "
    "where excluded.revision > runs.revision and excluded.pipeline = runs.pipeline"
)


async def store_runs(connection: asyncpg.Connection, records: list[RunRow]) -> None:
    """Merge the records into `runs`; those that bring nothing new change nothing."""
    if not records:
        return
    new = {one.run_id: one for one in merge_runs(records)}
    found = await connection.fetch(KNOWN, list(new))
    old = [new.pop(run_id) for (run_id,) in found]
    if new and not await insert_new(connection, new.values()):
        old += new.values()
    if old:
        await merge_into(connection, old)


async def insert_new(connection: asyncpg.Connection, records: Iterable[RunRow]) -> bool:
    """COPY the records into `runs`, or nothing and False when another sink has just stored one of their run ids."""
    try:
        async with connection.transaction():
            await copy(connection, "runs", records)
    except asyncpg.UniqueViolationError:
        return False
    return True


async def merge_into(connection: asyncpg.Connection, records: Iterable[RunRow]) -> None:
    """Insert the records or merge them into the rows that are there, by the rules of `merging`."""
    await copy(connection, "staged_runs", records)
    await connection.execute(UPSERT)
    await connection.execute(EMPTY)  # a second half of the batch may follow in this transaction


async def copy(connection: asyncpg.Connection, table: str, records: Iterable[RunRow]) -> None:
    """COPY in order of the key, so that two sinks that meet in the same runs never deadlock."""
    ordered = sorted(records, key=lambda one: one.run_id.int)
    # Rows are made one by one as they are sent: thousands of tuples kept would have the garbage collector busy.
    await connection.copy_records_to_table(table, records=map(row_of, ordered), columns=COLUMNS)


def edges_of(records: list[RunRow]) -> set[tuple[UUID, UUID]]:
    """Child and parent of every record that names a parent."""
    return {
        (record.run_id, record.parent_run_id)
        for record in records
        if record.parent_run_id is not None and record.parent_run_id != record.run_id
    }


def row_of(record: RunRow) -> tuple[Any, ...]:
    """The record's values in the order of `COLUMNS`."""
    error = record.error
    return (
        record.run_id,
        record.pipeline,
        record.parent_run_id,
        record.attempt,
        record.started_at,
        record.nominal_at,
        record.backfill,
        numeric(record.heartbeat_seconds),
        record.watermark,
        record.next_watermark,
        record.last_heartbeat_at,
        record.status,
        record.reported_status,
        record.end_event_id,
        record.ended_at,
        numeric(record.duration_seconds),
        record.inserts,
        record.updates,
        record.deletes,
        record.total_rows,
        record.throughput,
        json_of(record.metrics),
        error.type if error else None,
        error.message if error else None,
        record.overdue,
        record.anomalous,
        record.flags,
        json_of(record.labels_started),
        json_of(record.labels_ended),
        json_of(record.metadata_started),
        json_of(record.metadata_ended),
        record.producer_host,
        record.revision,
    )


def numeric(value: float | None) -> Decimal | None:
    """The value with the 15 digits that a double is sure of, as Postgres casts it to numeric."""
    return None if value is None else Decimal(f"{value:.15g}")


def json_of(value: dict[str, Any] | None) -> str | None:
    """Compact JSON, or None; what orjson won't take (integers beyond 64 bits) goes the slow way."""
    if value is None:
        return None
    if not value:
        return "{}"
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return json.dumps(value, separators=(",", ":"))
