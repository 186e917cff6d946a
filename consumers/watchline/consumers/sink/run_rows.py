"""A run as the sink handles it: decoded from the bytes of the streams straight into what `runs` takes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec

from watchline.schemas import decode_record
from watchline.schemas.events import Status
from watchline.schemas.records import RunRecord, SinkRecord

Time = Annotated[datetime, msgspec.Meta(tz=True)]


class RowError(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """Why a run ended badly."""

    message: str
    type: str | None = None


class RunRow(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """The fields of `RunRecord`, which says what they mean; a test holds the two together.

    Collections are never changed. Times are exact to the microsecond, finer ones than the streams' are rounded.
    """

    record_type: Literal["run"]
    run_id: UUID
    pipeline: str
    revision: int
    parent_run_id: UUID | None = None
    attempt: int | None = None
    started_at: Time | None = None
    nominal_at: Time | None = None
    backfill: bool | None = None
    heartbeat_seconds: float | None = None
    watermark: str | None = None
    next_watermark: str | None = None
    last_heartbeat_at: Time | None = None
    status: Status = "running"
    reported_status: str | None = None
    end_event_id: UUID | None = None
    ended_at: Time | None = None
    duration_seconds: float | None = None
    inserts: int | None = None
    updates: int | None = None
    deletes: int | None = None
    total_rows: int | None = None
    throughput: float | None = None
    metrics: dict[str, float] = msgspec.field(default_factory=dict)
    error: RowError | None = None
    overdue: bool = False
    anomalous: bool = False
    flags: tuple[str, ...] = ()
    labels_started: dict[str, str] | None = None
    labels_ended: dict[str, str] | None = None
    metadata_started: dict[str, Any] | None = None
    metadata_ended: dict[str, Any] | None = None
    producer_host: str | None = None


Meaning = SinkRecord | RunRow
DECODER = msgspec.json.Decoder(RunRow)


def decode(raw: bytes | None) -> Meaning:
    """What a record of the streams' topics says; BadEvent when it is none of ours.

    A run as the streams write it takes a fifth of the time that the model takes. The model has the last word on
    everything else: other records, unknown fields, and whatever is odd about a run.
    """
    try:
        return DECODER.decode(raw or b"")
    except (msgspec.MsgspecError, RecursionError):
        record = decode_record(raw)
    return row_from(record) if isinstance(record, RunRecord) else record


def row_from(record: RunRecord) -> RunRow:
    """The same run."""
    return msgspec.convert(record, RunRow, from_attributes=True)
