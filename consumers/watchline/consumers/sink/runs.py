"""Writing `runs`: COPY into a temporary table, then one upsert that merges by the rules of `merging`."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import asyncpg
import orjson

from watchline.consumers.sink.merging import merge_runs
from watchline.schemas.records import RunRecord

# Column, its type in the staging table, and what it becomes. Durations travel as doubles and JSON as text: both
# are several times cheaper for the client to encode than numeric and jsonb.
STAGED = (
    ("run_id", "uuid", "run_id"),
    ("pipeline", "text", "pipeline"),
    ("parent_run_id", "uuid", "parent_run_id"),
    ("attempt", "integer", "attempt"),
    ("started_at", "timestamptz", "started_at"),
    ("nominal_at", "timestamptz", "nominal_at"),
    ("backfill", "boolean", "backfill"),
    ("heartbeat_seconds", "double precision", "heartbeat_seconds::numeric"),
    ("watermark", "text", "watermark"),
    ("next_watermark", "text", "next_watermark"),
    ("last_heartbeat_at", "timestamptz", "last_heartbeat_at"),
    ("status", "text", "status"),
    ("reported_status", "text", "reported_status"),
    ("end_event_id", "uuid", "end_event_id"),
    ("ended_at", "timestamptz", "ended_at"),
    ("duration_seconds", "double precision", "duration_seconds::numeric"),
    ("inserts", "bigint", "inserts"),
    ("updates", "bigint", "updates"),
    ("deletes", "bigint", "deletes"),
    ("total_rows", "bigint", "total_rows"),
    ("throughput", "double precision", "throughput"),
    ("metrics", "text", "metrics::jsonb"),
    ("error_type", "text", "error_type"),
    ("error_message", "text", "error_message"),
    ("overdue", "boolean", "overdue"),
    ("anomalous", "boolean", "anomalous"),
    ("flags", "text[]", "flags"),
    ("labels_started", "text", "labels_started::jsonb"),
    ("labels_ended", "text", "labels_ended::jsonb"),
    ("metadata_started", "text", "metadata_started::jsonb"),
    ("metadata_ended", "text", "metadata_ended::jsonb"),
    ("producer_host", "text", "producer_host"),
    ("revision", "bigint", "revision"),
)
COLUMNS = [name for name, _, _ in STAGED]
STAGE = (
    "create temporary table if not exists staged_runs ("
    + ", ".join(f"{name} {kind}" for name, kind, _ in STAGED)
    + ") on commit delete rows"
)
EMPTY = "truncate staged_runs"

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
# In order of the key, so that two sinks never deadlock. A run belongs to one pipeline: revisions of two pipelines come
# from two partitions and can't be compared.
UPSERT = (
    f"insert into runs ({', '.join(COLUMNS)}) select {', '.join(value for _, _, value in STAGED)} "  # noqa: S608
    f"from staged_runs order by run_id on conflict (run_id) do update set {MERGED} "
    "where excluded.revision > runs.revision and excluded.pipeline = runs.pipeline"
)


async def store_runs(connection: asyncpg.Connection, records: list[RunRecord]) -> None:
    """Merge the records into `runs`; those that bring nothing new change nothing."""
    if not records:
        return
    await connection.copy_records_to_table(
        "staged_runs", records=[row_of(record) for record in merge_runs(records)], columns=COLUMNS
    )
    await connection.execute(UPSERT)
    await connection.execute(EMPTY)  # a second half of the batch may follow in this transaction


def edges_of(records: list[RunRecord]) -> set[tuple[UUID, UUID]]:
    """Child and parent of every record that names a parent."""
    return {
        (record.run_id, record.parent_run_id)
        for record in records
        if record.parent_run_id is not None and record.parent_run_id != record.run_id
    }


def row_of(record: RunRecord) -> tuple[Any, ...]:
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
        record.heartbeat_seconds,
        record.watermark,
        record.next_watermark,
        record.last_heartbeat_at,
        record.status,
        record.reported_status,
        record.end_event_id,
        record.ended_at,
        record.duration_seconds,
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
