"""Which check reads which field of which event: the contract's rules in one table."""

from __future__ import annotations

from typing import get_args

from watchline.schemas.declaration import (
    AnomalyRule,
    Dataset,
    Freshness,
    Mute,
    Retries,
    Schedule,
    Timeliness,
    TypeDefaults,
    WatermarkKind,
)
from watchline.schemas.decoding.choices import boolean, choice, required_choice
from watchline.schemas.decoding.identity import check_dataset, check_pipeline, check_uuid
from watchline.schemas.decoding.maps import labels, metadata
from watchline.schemas.decoding.measurements import attempt, count, duration_ms, metrics, optional_attempt, seconds
from watchline.schemas.decoding.moments import check_occurred_at, optional_moment
from watchline.schemas.decoding.outcome import check_error
from watchline.schemas.decoding.parts import part, parts
from watchline.schemas.decoding.producers import check_producer
from watchline.schemas.decoding.progress import check_watermark, optional_watermark
from watchline.schemas.decoding.reading import Check
from watchline.schemas.decoding.texts import optional_text, texts
from watchline.schemas.events import (
    BaseEvent,
    FeedbackGiven,
    PipelineDeclared,
    RunEnded,
    RunHeartbeat,
    RunStarted,
    WatermarkAdvanced,
)
from watchline.schemas.limits import MAX_NAME

Checks = dict[str, Check]

KIND = choice(get_args(WatermarkKind), "text")
NAME = optional_text(MAX_NAME)

ENVELOPE: Checks = {"event_id": check_uuid, "occurred_at": check_occurred_at, "pipeline": check_pipeline}
RUN: Checks = ENVELOPE | {"run_id": check_uuid}
COUNTS: Checks = {"inserts": count, "updates": count, "deletes": count, "total_rows": count}
NOTES: Checks = {"labels": labels, "metadata": metadata}

# Required fields first, each in a fixed order: of two faults the same one is always reported.
REQUIRED: dict[str, Checks] = {
    "pipeline.declared": ENVELOPE,
    "run.started": RUN,
    "run.heartbeat": RUN,
    "run.ended": RUN,
    "watermark.advanced": ENVELOPE | {"watermark": check_watermark},
    "feedback.given": RUN | {"verdict": required_choice(("expected", "false_positive", "new_normal"))},
}

OPTIONAL: dict[str, Checks] = {
    "pipeline.declared": {
        "producer": check_producer,
        "type": NAME,
        "type_defaults": part(TypeDefaults),
        "active": boolean(default=True),
        "owner": NAME,
        "tags": texts,
        "metadata": metadata,
        "freshness": part(Freshness),
        "timeliness": part(Timeliness),
        "schedule": part(Schedule),
        "mutes": parts(Mute),
        "anomaly_rules": parts(AnomalyRule),
        "retries": part(Retries),
        "sources": parts(Dataset),
        "targets": parts(Dataset),
        "default_watermark": optional_watermark,
        "watermark_kind": KIND,
        "config_hash": NAME,
    },
    "run.started": {
        "producer": check_producer,
        "parent_run_id": check_uuid,
        "attempt": attempt,
        "watermark": optional_watermark,
        "next_watermark": optional_watermark,
        "heartbeat_seconds": seconds,
        "nominal_at": optional_moment,
        "backfill": boolean(default=False),
        **NOTES,
    },
    "run.heartbeat": {"producer": check_producer, **COUNTS},
    "run.ended": {
        "producer": check_producer,
        "attempt": optional_attempt,
        "started_at": optional_moment,
        "duration_ms": duration_ms,
        **COUNTS,
        "metrics": metrics,
        "next_watermark": optional_watermark,
        "error": check_error,
        "backfill": boolean(default=False),
        **NOTES,
    },
    "watermark.advanced": {
        "producer": check_producer,
        "kind": KIND,
        "run_id": check_uuid,
        "dataset": check_dataset,
    },
    "feedback.given": {"producer": check_producer, "metrics": texts},
}

MODELS: dict[str, type[BaseEvent]] = {
    "pipeline.declared": PipelineDeclared,
    "run.started": RunStarted,
    "run.heartbeat": RunHeartbeat,
    "run.ended": RunEnded,
    "watermark.advanced": WatermarkAdvanced,
    "feedback.given": FeedbackGiven,
}
