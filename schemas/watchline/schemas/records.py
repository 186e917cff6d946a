"""What the streams publish for the sink: canonical rows, findings, incident transitions and dead letters.

Every record carries a `revision`: `log_epoch << 44 | source offset + 1`. It only grows for one row, because a
key lives in one partition; a row changes only when the incoming revision is higher, so replays change nothing.
"""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from watchline.schemas.declaration import WatermarkKind
from watchline.schemas.events import PipelineDeclared, RunError, Status

EPOCH_SHIFT = 44
MAX_EPOCHS = 2**18  # with them a revision fits into a signed 64-bit number


ExpectedState = Literal["expected", "met", "late", "missed", "excused", "unknown"]
ExcuseReason = Literal["inactive", "paused", "muted", "excluded", "changed"]


def revision_of(epoch: int, offset: int) -> int:
    """The revision of a row that has absorbed the source record at `offset` of log `epoch`."""
    return (epoch << EPOCH_SHIFT) | (offset + 1)


class Record(BaseModel):
    """What every record for the sink carries."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pipeline: str
    revision: int


class PipelineRecord(Record):
    """The newest declaration of a pipeline."""

    record_type: Literal["pipeline"] = "pipeline"
    declaration: PipelineDeclared


class RunRecord(Record):
    """One run as merged so far, for `runs`.

    Start fields are None when unknown and never overwrite; the fields from `status` to `error` go together and
    belong to the end event `end_event_id` (None while running): of two ends the one with the later (`ended_at`,
    `end_event_id`) wins. `labels_started` and `labels_ended` (likewise metadata) are None when this revision brings
    none; a row's labels are started | ended, the end winning. A record with `backfill` None knows only what its own
    events said: the streams no longer held the run.
    """

    record_type: Literal["run"] = "run"
    run_id: UUID
    parent_run_id: UUID | None = None
    attempt: int | None = None
    started_at: AwareDatetime | None = None
    nominal_at: AwareDatetime | None = None
    backfill: bool | None = None
    heartbeat_seconds: float | None = None
    watermark: str | None = None
    next_watermark: str | None = None
    last_heartbeat_at: AwareDatetime | None = None
    status: Status = "running"
    reported_status: str | None = None
    end_event_id: UUID | None = None
    ended_at: AwareDatetime | None = None
    duration_seconds: float | None = None
    inserts: int | None = None
    updates: int | None = None
    deletes: int | None = None
    total_rows: int | None = None
    throughput: float | None = None
    metrics: dict[str, float] = Field(default_factory=dict)
    error: RunError | None = None
    overdue: bool = False
    anomalous: bool = False
    flags: tuple[str, ...] = ()
    labels_started: dict[str, str] | None = None
    labels_ended: dict[str, str] | None = None
    metadata_started: dict[str, Any] | None = None
    metadata_ended: dict[str, Any] | None = None
    producer_host: str | None = None


class WatermarkRecord(Record):
    """One advance of a watermark: `watermark` is what was sent, `effective` what holds after it."""

    record_type: Literal["watermark"] = "watermark"
    dataset: str = ""  # "" is the pipeline's own watermark
    event_id: UUID
    run_id: UUID | None = None
    kind: WatermarkKind
    watermark: str
    effective: str
    effective_at: AwareDatetime  # when the event that set `effective` occurred
    occurred_at: AwareDatetime
    regressed: bool = False
    regressions: int = 0
    flags: tuple[str, ...] = ()


class AnomalyRecord(Record):
    """A finished run whose metric is outside its expected range, with everything that explains the verdict."""

    record_type: Literal["anomaly"] = "anomaly"
    anomaly_id: UUID  # uuid5 of run and metric
    run_id: UUID
    metric: str
    value: float
    expected: float | None = None
    lower: float | None = None
    upper: float | None = None
    score: float  # z: deviations from the expected value, sign = direction
    limit: float  # z beyond which it flags
    baseline_runs: int
    seasons: tuple[str, ...] = ()  # which offsets were active: "weekday", "hour"
    reason: Literal["point", "sustained", "zero", "static"]
    rule: str
    run_started_at: AwareDatetime
    run_ended_at: AwareDatetime
    muted: bool = False


class ExpectedRunRecord(Record):
    """One expected start of a scheduled pipeline; the newest revision is its present state.

    `met`: the run started at most `grace_seconds` after `due_at`; `late`: after that; `missed`: none had by then.
    `excused`: none had to (`reason` says why); `unknown`: it could not be seen whether one did. `run_id` is the run
    that started for it. With `until` the record stands for all starts due from `due_at` to then, too many to list.
    """

    record_type: Literal["expected_run"] = "expected_run"
    due_at: AwareDatetime
    state: ExpectedState
    reason: ExcuseReason | None = None
    timezone: str
    grace_seconds: float
    run_id: UUID | None = None
    started_at: AwareDatetime | None = None
    decided_at: AwareDatetime | None = None  # by the clock of the log
    until: AwareDatetime | None = None


class IncidentFact(BaseModel):
    """One line of an incident: what was seen against what was expected."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str  # a metric, or "age", "duration", "error"
    value: float | str | None = None
    expected: float | None = None
    lower: float | None = None
    upper: float | None = None
    limit: float | None = None
    score: float | None = None
    baseline_runs: int | None = None
    unit: Literal["rows", "seconds", "rows_per_second", "text", "number"] = "number"
    note: str | None = None


IncidentKind = Literal["anomaly", "freshness", "timeliness", "failure", "lost", "missed_start"]
Transition = Literal["opened", "updated", "resolved", "acknowledged", "snoozed", "woken"]
ResolveReason = Literal["recovered", "arrived_late", "expired", "manual", "paused", "removed", "adopted"]


class IncidentRecord(Record):
    """One transition of an incident; the newest revision is its present state.

    `transition_no` counts from 1 within the incident. `cause_at` is when the cause occurred (event time): a cause
    too old when read is recorded and not sent. `facts` hold what a message needs: value, limit, range, metric, error,
    age.
    """

    record_type: Literal["incident"] = "incident"
    incident_id: UUID  # uuid5 of fingerprint and opening revision
    fingerprint: str
    kind: IncidentKind
    subject: str = ""  # the run for timeliness and lost, "deadline" for one; "" where the pipeline is the subject
    transition: Transition
    transition_no: int
    severity: Literal["warn", "fail"]
    at: AwareDatetime
    opened_at: AwareDatetime
    cause_at: AwareDatetime
    resolved_at: AwareDatetime | None = None
    resolve_reason: ResolveReason | None = None
    run_id: UUID | None = None
    owner: str | None = None
    pipeline_type: str | None = None
    title: str
    facts: tuple[IncidentFact, ...] = ()
    acknowledged_at: AwareDatetime | None = None
    acknowledged_by: str | None = None
    snoozed_until: AwareDatetime | None = None
    by: str | None = None  # the person (user@host) whose command made this transition
    note: str | None = None  # what they said about it


class CommandRecord(Record):
    """What became of a command or of feedback: `ignored` when it could change nothing, and `detail` says why."""

    record_type: Literal["command"] = "command"
    event_id: UUID
    command: str  # the event type
    at: AwareDatetime
    by: str | None = None
    note: str | None = None
    outcome: Literal["applied", "ignored"]
    detail: str = ""
    incident_id: UUID | None = None
    run_id: UUID | None = None
    check: str | None = None
    until: AwareDatetime | None = None
    verdict: Literal["expected", "false_positive", "new_normal"] | None = None
    metrics: tuple[str, ...] = ()  # that feedback is about; none means all of the run's


class DeadLetter(BaseModel):
    """A record that could not be used, with its bytes and its place; base64 so that any bytes fit."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    record_type: Literal["dead_letter"] = "dead_letter"
    reason: str
    detail: str
    source_topic: str
    source_partition: int
    source_offset: int
    source_timestamp_ms: int | None = None
    key: str | None = None  # base64; None is a Kafka null
    value: str | None = None
    headers: tuple[tuple[str, str | None], ...] = ()  # name and base64 value
    failed_at: AwareDatetime
    log_epoch: int = 0


class PulseRecord(BaseModel):
    """How far a partition of `runs` has been read: a pulse that came through it, told every half minute.

    `events` were read since the pulse told before.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    record_type: Literal["pulse"] = "pulse"
    revision: int
    partition: int
    at: AwareDatetime
    events: int


SinkRecord = (
    PipelineRecord
    | RunRecord
    | WatermarkRecord
    | AnomalyRecord
    | ExpectedRunRecord
    | IncidentRecord
    | CommandRecord
    | DeadLetter
    | PulseRecord
)
