"""The canonical row of a run, as the sink receives it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from watchline.schemas import RunEnded, RunHeartbeat, RunStarted
from watchline.schemas.events import RunError
from watchline.schemas.records import revision_of
from watchline.streams.instants import SECOND, to_datetime
from watchline.streams.rows import End, Run
from watchline.streams.runs.merge import duration_of, flags_of, is_end_of, start_order_of, throughput_of

KEPT_WATERMARK = 512  # characters; the sink gets a longer one once and keeps it, as a null never overwrites


@dataclass(slots=True)
class Brought:
    """What the events of one batch brought for a run and the row of the table does not keep.

    `partial` when the row no longer holds the run: what this batch did not bring is then unknown.
    """

    labels_started: dict[str, str] | None = None
    labels_ended: dict[str, str] | None = None
    metadata_started: dict[str, Any] | None = None
    metadata_ended: dict[str, Any] | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    error: RunError | None = None
    watermark: str | None = None
    next_watermark: str | None = None
    partial: bool = False

    def take(self, event: RunStarted | RunHeartbeat | RunEnded, run: Run, *, replaces: bool) -> None:
        """Keep the texts of what is (for now) the start or the end of `run`.

        When it replaces another one it says so even if it has none: an empty map overwrites, a null does not.
        """
        nothing: dict[str, Any] | None = {} if replaces else None
        if isinstance(event, RunStarted) and run.start_order == start_order_of(event):
            self.labels_started, self.metadata_started = event.labels or nothing, event.metadata or nothing
        elif isinstance(event, RunEnded) and is_end_of(event, run):
            self.labels_ended, self.metadata_ended = event.labels or nothing, event.metadata or nothing
            self.metrics, self.error = event.metrics, event.error

    def take_long_watermarks(self, run: Run) -> None:
        """Take watermarks from the row that are too long for it; at once, so that no batch border matters."""
        if run.end and len(run.end.next_watermark or "") > KEPT_WATERMARK:
            self.next_watermark, run.end.next_watermark = run.end.next_watermark, None
        if len(run.next_watermark or "") > KEPT_WATERMARK:
            self.next_watermark, run.next_watermark = self.next_watermark or run.next_watermark, None
        if len(run.watermark or "") > KEPT_WATERMARK:
            self.watermark, run.watermark = run.watermark, None


def record_of(pipeline: str, run: Run, brought: Brought, *, epoch: int, offset: int) -> dict[str, Any]:
    """The fields of the `RunRecord` of `run` after the source record at `offset`; unknown ones are left out.

    A dict and not the model: building and writing the model cost a third of all that an event costs. A test holds it
    to the model.
    """
    fields: dict[str, Any] = {
        "record_type": "run",
        "pipeline": pipeline,
        "revision": revision_of(epoch, offset),
        "run_id": UUID(bytes=run.run_id),
        "overdue": run.overdue,
        "anomalous": run.anomalous,
        "flags": flags_of(run),
    }
    optional = {
        "backfill": run.backfill or (None if brought.partial else False),
        "parent_run_id": UUID(bytes=run.parent_run_id) if run.parent_run_id else None,
        "attempt": run.attempt,
        "started_at": None if run.started_at is None else to_datetime(run.started_at),
        "nominal_at": None if run.nominal_at is None else to_datetime(run.nominal_at),
        "heartbeat_seconds": run.heartbeat_seconds,
        "watermark": _known(run.watermark, brought.watermark),
        "next_watermark": _known(
            run.end.next_watermark if run.end else None, run.next_watermark, brought.next_watermark
        ),
        "last_heartbeat_at": None if run.last_heartbeat_at is None else to_datetime(run.last_heartbeat_at),
        "labels_started": brought.labels_started,
        "labels_ended": brought.labels_ended,
        "metadata_started": brought.metadata_started,
        "metadata_ended": brought.metadata_ended,
        "producer_host": run.producer_host,
    }
    if run.end:
        optional |= _end_of(run, run.end, brought)
    elif run.lost:
        optional["status"] = "lost"
    fields |= {name: value for name, value in optional.items() if value is not None}
    return fields


def _known(*values: str | None) -> str | None:
    return next((value for value in values if value is not None), None)


def _end_of(run: Run, end: End, brought: Brought) -> dict[str, Any]:
    duration = duration_of(run)
    return {
        "status": end.status,
        "reported_status": end.reported_status,
        "end_event_id": UUID(bytes=end.event_id),
        "ended_at": to_datetime(end.ended_at),
        "duration_seconds": None if duration is None else duration / SECOND,
        "inserts": end.inserts,
        "updates": end.updates,
        "deletes": end.deletes,
        "total_rows": end.total_rows,
        "throughput": throughput_of(run),
        "metrics": brought.metrics,
        "error": brought.error and brought.error.model_dump(exclude_none=True),
    }
