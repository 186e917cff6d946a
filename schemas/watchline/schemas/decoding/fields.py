"""Which check reads which field of which event: the contract's rules in one table."""

from __future__ import annotations

from typing import get_args

from watchline.schemas.declaration import (
    AnomalyRule,
    Check,
    Dataset,
    Freshness,
    KeepFiring,
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
from watchline.schemas.decoding.moments import check_occurred_at, check_until, optional_moment
from watchline.schemas.decoding.outcome import check_error
from watchline.schemas.decoding.parts import part, parts
from watchline.schemas.decoding.producers import check_producer
from watchline.schemas.decoding.progress import check_watermark, optional_watermark
from watchline.schemas.decoding.reading import Check as Reader
from watchline.schemas.decoding.texts import optional_text, required_text, texts
from watchline.schemas.events import (
    BaseEvent,
    FeedbackGiven,
    IncidentAcknowledged,
    IncidentResolved,
    IncidentSnoozed,
    PipelineDeclared,
    PipelineMuted,
    PipelineUnmuted,
    RunEnded,
    RunHeartbeat,
    RunStarted,
    WatermarkAdvanced,
)
from watchline.schemas.limits import MAX_NAME, MAX_TEXT

Checks = dict[str, Reader]

KIND = choice(get_args(WatermarkKind), "text")
NAME, TEXT = optional_text(MAX_NAME), optional_text(MAX_TEXT)
CHECK = required_choice(get_args(Check))  # a mute of another check than was meant would hide the wrong thing

ENVELOPE: Checks = {"event_id": check_uuid, "occurred_at": check_occurred_at, "pipeline": check_pipeline}
RUN: Checks = ENVELOPE | {"run_id": check_uuid}
COUNTS: Checks = {"inserts": count, "updates": count, "deletes": count, "total_rows": count}
COMMAND: Checks = ENVELOPE | {"by": required_text(MAX_NAME)}
INCIDENT: Checks = COMMAND | {"incident_id": check_uuid}
SAID: Checks = {"producer": check_producer, "note": TEXT}
NOTES: Checks = {"labels": labels, "metadata": metadata}

# Required fields first, each in a fixed order: of two faults the same one is always reported.
REQUIRED: dict[str, Checks] = {
    "pipeline.declared": ENVELOPE,
    "run.started": RUN,
    "run.heartbeat": RUN,
    "run.ended": RUN,
    "watermark.advanced": ENVELOPE | {"watermark": check_watermark},
    "feedback.given": RUN | {"verdict": required_choice(("expected", "false_positive", "new_normal"))},
    "incident.acknowledged": INCIDENT,
    "incident.resolved": INCIDENT,
    "incident.snoozed": INCIDENT | {"until": check_until},
    "pipeline.muted": COMMAND | {"until": check_until},
    "pipeline.unmuted": COMMAND,
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
        "keep_firing": parts(KeepFiring),
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
    "feedback.given": {**SAID, "metrics": texts, "by": NAME},
    "incident.acknowledged": SAID,
    "incident.resolved": SAID,
    "incident.snoozed": SAID,
    "pipeline.muted": {**SAID, "check": CHECK, "reason": TEXT},
    "pipeline.unmuted": {**SAID, "check": CHECK},
}

MODELS: dict[str, type[BaseEvent]] = {
    "pipeline.declared": PipelineDeclared,
    "run.started": RunStarted,
    "run.heartbeat": RunHeartbeat,
    "run.ended": RunEnded,
    "watermark.advanced": WatermarkAdvanced,
    "feedback.given": FeedbackGiven,
    "incident.acknowledged": IncidentAcknowledged,
    "incident.resolved": IncidentResolved,
    "incident.snoozed": IncidentSnoozed,
    "pipeline.muted": PipelineMuted,
    "pipeline.unmuted": PipelineUnmuted,
}
