"""Records as the streams write them, each valid as it is; any field can be changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from watchline.schemas.events import PipelineDeclared
from watchline.schemas.records import (
    AnomalyRecord,
    CommandRecord,
    DeadLetter,
    ExpectedRunRecord,
    IncidentRecord,
    PipelineRecord,
    RunRecord,
    SinkRecord,
    WatermarkRecord,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SPACE = UUID("0197a1b2-0000-7000-8000-000000000000")


def after(**parts: float) -> datetime:
    """Noon and a while."""
    return NOON + timedelta(**parts)


def name_id(name: str) -> UUID:
    """The same id for the same name."""
    return uuid5(SPACE, name)


def started(run: str = "run", *, revision: int = 1, **changes: Any) -> RunRecord:
    """A run that has begun at noon."""
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "run_id": name_id(run),
        "attempt": 1,
        "started_at": NOON,
        "backfill": False,
        "labels_started": {"team": "sales", "stage": "start"},
        "metadata_started": {"shard": 3},
        "producer_host": "etl-1",
    }
    return RunRecord(**fields | changes)


def ended(run: str = "run", *, revision: int = 2, **changes: Any) -> RunRecord:
    """The same run, which has succeeded after five minutes."""
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "run_id": name_id(run),
        "attempt": 1,
        "started_at": NOON,
        "status": "succeeded",
        "end_event_id": name_id(f"{run} end"),
        "ended_at": after(minutes=5),
        "duration_seconds": 300.25,
        "inserts": 2**63 - 1,
        "total_rows": 0,
        "throughput": 3.5,
        "metrics": {"null_share": 0.25},
        "labels_ended": {"stage": "end"},
    }
    return RunRecord(**fields | changes)


def declared(
    pipeline: str = "orders_daily", *, revision: int = 1, at: datetime = NOON, **changes: Any
) -> PipelineRecord:
    """A declaration of an extraction from one table into another."""
    fields: dict[str, Any] = {
        "event_id": name_id(f"{pipeline} {revision}"),
        "occurred_at": at,
        "pipeline": pipeline,
        "type": "extraction",
        "owner": "sales",
        "tags": ("daily", "eu"),
        "metadata": {"repo": "etl"},
        "freshness": {"max_age_seconds": 3600},
        "timeliness": {"max_duration_seconds": 90.5},
        "schedule": {"cron": "0 6 * * *", "timezone": "Europe/Berlin"},
        "sources": ({"name": "shop.orders", "type": "postgres"},),
        "targets": ({"name": "orders", "type": "snowflake", "group": "warehouse"},),
    }
    return PipelineRecord(pipeline=pipeline, revision=revision, declaration=PipelineDeclared(**fields | changes))


def advanced(watermark: str = "2026-11-30", *, revision: int = 1, **changes: Any) -> WatermarkRecord:
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "event_id": name_id(f"watermark {watermark} {revision}"),
        "kind": "timestamp",
        "watermark": watermark,
        "effective": watermark,
        "effective_at": NOON,
        "occurred_at": NOON,
    }
    return WatermarkRecord(**fields | changes)


def anomaly(metric: str = "inserts", *, revision: int = 2, **changes: Any) -> AnomalyRecord:
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "anomaly_id": name_id(f"anomaly {metric}"),
        "run_id": name_id("run"),
        "metric": metric,
        "value": 12,
        "expected": 1120.5,
        "lower": 950,
        "upper": 1310,
        "score": -9.1,
        "limit": 4.5,
        "baseline_runs": 212,
        "seasons": ("weekday",),
        "reason": "point",
        "rule": "default",
        "run_started_at": NOON,
        "run_ended_at": after(minutes=5),
    }
    return AnomalyRecord(**fields | changes)


def slot(*, revision: int = 2, **changes: Any) -> ExpectedRunRecord:
    """A start that was due at noon and is open."""
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "due_at": NOON,
        "state": "expected",
        "timezone": "Europe/Berlin",
        "grace_seconds": 900,
    }
    return ExpectedRunRecord(**fields | changes)


def incident(name: str = "incident", *, revision: int = 2, **changes: Any) -> IncidentRecord:
    """An incident that opens at noon; `no` is its transition number."""
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "incident_id": name_id(name),
        "fingerprint": "orders_daily/anomaly",
        "kind": "anomaly",
        "transition": "opened",
        "transition_no": 1,
        "severity": "warn",
        "at": NOON,
        "opened_at": NOON,
        "cause_at": NOON,
        "title": "inserts 12, expected 950 to 1,310",
        "facts": ({"name": "inserts", "value": 12, "unit": "rows"},),
    }
    return IncidentRecord(**fields | changes)


def resolved(name: str = "incident", *, revision: int = 3, **changes: Any) -> IncidentRecord:
    fields = {
        "transition": "resolved",
        "transition_no": 2,
        "at": after(hours=1),
        "resolved_at": after(hours=1),
        "resolve_reason": "recovered",
    }
    return incident(name, revision=revision, **fields | changes)


def command(name: str = "incident.acknowledged", *, revision: int = 3, **changes: Any) -> CommandRecord:
    """A command of ada's that was applied; `feedback.given` has a run and a verdict."""
    feedback = {"run_id": name_id("run"), "verdict": "false_positive"} if name == "feedback.given" else {}
    fields: dict[str, Any] = {
        "pipeline": "orders_daily",
        "revision": revision,
        "event_id": name_id(f"{name} {revision}"),
        "command": name,
        "at": after(minutes=30),
        "by": "ada@etl-1",
        "outcome": "applied",
    }
    return CommandRecord(**fields | feedback | changes)


def letter(offset: int = 7, **changes: Any) -> DeadLetter:
    fields: dict[str, Any] = {
        "reason": "invalid_json",
        "detail": "at byte 3",
        "source_topic": "watchline.runs",
        "source_partition": 1,
        "source_offset": offset,
        "source_timestamp_ms": 1_796_040_000_000,
        "key": "b3JkZXJzAP8=",
        "value": "AAEC//4=",
        "headers": (("trace", "AP8="), ("empty", None)),
        "failed_at": NOON,
    }
    return DeadLetter(**fields | changes)


@dataclass(frozen=True, slots=True)
class Sent:
    """A Kafka record as the consumer hands it over."""

    value: bytes | None
    offset: int
    topic: str = "t.state"
    partition: int = 0
    key: bytes | None = b"orders_daily"
    timestamp: int | None = 1_796_040_000_000
    headers: tuple[tuple[str, bytes | None], ...] = ()


def sent(*records: SinkRecord | bytes | None, first: int = 0) -> list[Sent]:
    """The records on their way, offsets counted from `first`; bytes go as they are."""
    return [
        Sent(one if isinstance(one, bytes) or one is None else one.model_dump_json().encode(), offset)
        for offset, one in enumerate(records, first)
    ]
