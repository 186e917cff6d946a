"""Writing `watermarks`, `watermark_history` and `anomalies`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import asyncpg

from watchline.consumers.sink.statements import insert, rows, upsert
from watchline.schemas.records import AnomalyRecord, Record, WatermarkRecord

R = TypeVar("R", bound=Record)

WATERMARKS = upsert(
    "watermarks",
    "pipeline dataset",
    "pipeline dataset kind watermark effective effective_at occurred_at event_id run_id regressed regressions "
    "flags revision",
    stamp="updated_at",
)
# An advance never changes; the record of the same event sent twice is the same advance.
HISTORY = (
    insert(
        "watermark_history",
        "event_id revision",
        "event_id pipeline dataset kind watermark effective effective_at occurred_at run_id regressed flags revision",
    )
    + " on conflict do nothing"
)
ANOMALIES = upsert(
    "anomalies",
    "anomaly_id",
    "anomaly_id pipeline run_id metric value expected lower upper score z_limit baseline_runs seasons reason "
    "rule run_started_at run_ended_at muted revision",
)


async def store_watermarks(connection: asyncpg.Connection, records: list[WatermarkRecord]) -> None:
    """Store where each watermark stands, and every advance."""
    if not records:
        return
    newest = newest_of(records, lambda record: (record.pipeline, record.dataset))
    await connection.execute(WATERMARKS, rows(map(row_of, newest)))
    await connection.execute(HISTORY, rows(map(row_of, records)))


async def store_anomalies(connection: asyncpg.Connection, records: list[AnomalyRecord]) -> None:
    """Store the newest verdict on each metric of a run."""
    if not records:
        return
    newest = newest_of(records, lambda record: record.anomaly_id)
    await connection.execute(ANOMALIES, rows(row_of(one) | {"z_limit": one.limit} for one in newest))


def newest_of(records: Iterable[R], key: Callable[[R], Hashable]) -> list[R]:
    """The record of the highest revision for each key."""
    newest: dict[Hashable, R] = {}
    for record in records:
        name = key(record)
        if name not in newest or record.revision > newest[name].revision:
            newest[name] = record
    return list(newest.values())


def row_of(record: Record) -> dict[str, Any]:
    return record.model_dump(mode="json")
