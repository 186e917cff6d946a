"""The events that jobs emit: what travels on the topics `pipelines`, `runs` and `watermarks`."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

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
from watchline.schemas.limits import MAX_NAME

Status = Literal["running", "succeeded", "failed", "aborted", "unknown", "lost"]
EndStatus = Literal["succeeded", "failed", "aborted", "unknown"]
Count = int  # 0 to 2^63-1; a worse one becomes null and is flagged


class Producer(BaseModel):
    """Which program sent an event, and from where."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str | None = None
    version: str | None = None
    host: str | None = None
    pid: int | None = None


class RunError(BaseModel):
    """Why a run ended badly."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    type: str | None = None
    message: str


class BaseEvent(BaseModel):
    """What every event carries; `flags` names what the decoder repaired and never travels on the wire."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    event_id: UUID
    schema_version: Literal[1] = 1
    occurred_at: AwareDatetime
    pipeline: str = Field(min_length=1, max_length=MAX_NAME)
    producer: Producer | None = None
    flags: tuple[str, ...] = Field(default=(), exclude=True)


class PipelineDeclared(BaseEvent):
    """A pipeline says what it is and what is expected of it."""

    event_type: Literal["pipeline.declared"] = "pipeline.declared"
    type: str | None = Field(default=None, max_length=MAX_NAME)
    type_defaults: TypeDefaults | None = None
    active: bool = True
    owner: str | None = Field(default=None, max_length=MAX_NAME)
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    freshness: Freshness | None = None
    timeliness: Timeliness | None = None
    schedule: Schedule | None = None
    mutes: tuple[Mute, ...] = ()
    keep_firing: tuple[KeepFiring, ...] = ()
    anomaly_rules: tuple[AnomalyRule, ...] = ()
    retries: Retries | None = None
    sources: tuple[Dataset, ...] = ()
    targets: tuple[Dataset, ...] = ()
    default_watermark: str | None = None
    watermark_kind: WatermarkKind = "text"
    config_hash: str | None = None


class RunEvent(BaseEvent):
    """What every event about one run carries."""

    run_id: UUID


class RunStarted(RunEvent):
    """A run began."""

    event_type: Literal["run.started"] = "run.started"
    parent_run_id: UUID | None = None
    attempt: int = 1
    watermark: str | None = None
    next_watermark: str | None = None
    heartbeat_seconds: float | None = None
    nominal_at: AwareDatetime | None = None
    backfill: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class RunHeartbeat(RunEvent):
    """A run is still alive; counts so far."""

    event_type: Literal["run.heartbeat"] = "run.heartbeat"
    inserts: Count | None = None
    updates: Count | None = None
    deletes: Count | None = None
    total_rows: Count | None = None


class RunEnded(RunEvent):
    """A run ended; `reported_status` keeps what was sent when it is not one of ours."""

    event_type: Literal["run.ended"] = "run.ended"
    attempt: int | None = None  # of the run: an end says nothing about later attempts
    status: EndStatus = "unknown"
    reported_status: str | None = Field(default=None, exclude=True)
    started_at: AwareDatetime | None = None
    duration_ms: int | None = None
    inserts: Count | None = None
    updates: Count | None = None
    deletes: Count | None = None
    total_rows: Count | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    next_watermark: str | None = None
    error: RunError | None = None
    backfill: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class WatermarkAdvanced(BaseEvent):
    """The data is complete up to `watermark`."""

    event_type: Literal["watermark.advanced"] = "watermark.advanced"
    watermark: str
    kind: WatermarkKind = "text"
    run_id: UUID | None = None
    dataset: str | None = None


class FeedbackGiven(RunEvent):
    """Somebody judged an anomaly: expected once, a false positive, or the new normal."""

    event_type: Literal["feedback.given"] = "feedback.given"
    metrics: tuple[str, ...] = ()
    verdict: Literal["expected", "false_positive", "new_normal"]
    by: str | None = Field(default=None, max_length=MAX_NAME)
    note: str | None = None


class CommandEvent(BaseEvent):
    """What every command of a person carries: who gave it (user@host), and why if they said so."""

    by: str = Field(min_length=1, max_length=MAX_NAME)
    note: str | None = None


class IncidentAcknowledged(CommandEvent):
    """Somebody takes care of an incident: no more reminders of it."""

    event_type: Literal["incident.acknowledged"] = "incident.acknowledged"
    incident_id: UUID


class IncidentResolved(CommandEvent):
    """Somebody closes an incident by hand."""

    event_type: Literal["incident.resolved"] = "incident.resolved"
    incident_id: UUID


class IncidentSnoozed(CommandEvent):
    """Nobody wants to hear of an incident before `until`."""

    event_type: Literal["incident.snoozed"] = "incident.snoozed"
    incident_id: UUID
    until: AwareDatetime


class PipelineMuted(CommandEvent):
    """A check of a pipeline opens no incident before `until`; it is recorded all the same."""

    event_type: Literal["pipeline.muted"] = "pipeline.muted"
    check: Check = "all"
    until: AwareDatetime
    reason: str | None = None


class PipelineUnmuted(CommandEvent):
    """The mute of a check ends before its time; `all` ends every one that was given by command."""

    event_type: Literal["pipeline.unmuted"] = "pipeline.unmuted"
    check: Check = "all"


IncidentCommand = IncidentAcknowledged | IncidentResolved | IncidentSnoozed
Command = IncidentCommand | PipelineMuted | PipelineUnmuted
Event = PipelineDeclared | RunStarted | RunHeartbeat | RunEnded | WatermarkAdvanced | FeedbackGiven | Command
