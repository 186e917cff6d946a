"""A run as Postgres keeps it, and the events that make the streams know it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from watchline.schemas import FeedbackGiven, PipelineMuted, PipelineUnmuted, RunEnded, RunHeartbeat, RunStarted
from watchline.schemas.events import Producer, RunError
from watchline.streams.runs.fold import RunsEvent

UNKNOWN = UUID(int=0)  # the id of an event that Postgres does not keep: the lesser one, so a repetition changes nothing
DERIVED = frozenset({"negative_duration"})  # flags that the fold finds by itself
MILLISECOND = 1000
MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A row of `runs`, without texts that no verdict needs; `ends` unless the log still has that end."""

    run_id: UUID
    revision: int
    ends: bool
    parent_run_id: UUID | None
    attempt: int | None
    started_at: datetime | None
    nominal_at: datetime | None
    backfill: bool | None
    heartbeat_seconds: Decimal | None
    watermark: str | None
    next_watermark: str | None
    last_heartbeat_at: datetime | None
    status: str
    reported_status: str | None
    end_event_id: UUID | None
    ended_at: datetime | None
    duration_seconds: Decimal | None
    inserts: int | None
    updates: int | None
    deletes: int | None
    total_rows: int | None
    metrics: str
    error_type: str | None
    error_message: str | None
    overdue: bool
    flags: list[str]
    producer_host: str | None


@dataclass(frozen=True, slots=True)
class StoredCommand:
    """A row of `commands` that was applied: feedback, or a mute and its end."""

    event_id: UUID
    revision: int
    command: str
    at: datetime
    given_by: str | None
    note: str | None
    run_id: UUID | None
    check_name: str | None
    until: datetime | None
    verdict: str | None
    metrics: list[str]


def events_of(pipeline: str, run: StoredRun) -> Iterator[RunsEvent]:
    """What was once read of `run`: its start if one is known, a sign of life while it runs, its end if it `ends`.

    The duration comes out to the microsecond as it was judged: see `_measure`.
    """
    about = {"pipeline": pipeline, "run_id": run.run_id}
    measured = _measure(run) if run.ends else {}
    flags = tuple(flag for flag in run.flags if flag not in DERIVED)
    if run.started_at is not None:
        yield RunStarted(
            **about, event_id=UNKNOWN, occurred_at=run.started_at, flags=flags,
            attempt=_first_attempt(run) if run.ends else run.attempt or 1, parent_run_id=run.parent_run_id,
            watermark=run.watermark, next_watermark=None if run.ends else run.next_watermark,
            heartbeat_seconds=None if run.heartbeat_seconds is None else float(run.heartbeat_seconds),
            nominal_at=run.nominal_at, backfill=bool(run.backfill),
            producer=Producer(host=run.producer_host) if run.producer_host else None,
        )  # fmt: skip
    if run.last_heartbeat_at is not None and not run.ends:
        yield RunHeartbeat(**about, event_id=UNKNOWN, occurred_at=run.last_heartbeat_at)
    if run.ends and run.ended_at is not None:
        yield RunEnded(
            **about, event_id=run.end_event_id, occurred_at=run.ended_at, flags=flags, attempt=run.attempt,
            status=run.status, reported_status=run.reported_status, inserts=run.inserts, updates=run.updates,
            deletes=run.deletes, total_rows=run.total_rows, metrics=json.loads(run.metrics),
            next_watermark=run.next_watermark, backfill=bool(run.backfill), **measured,
            error=None if run.error_message is None else RunError(type=run.error_type, message=run.error_message),
        )  # fmt: skip


def command_of(pipeline: str, stored: StoredCommand) -> RunsEvent:
    """The event of a command as it was read once."""
    about: dict[str, Any] = {"pipeline": pipeline, "event_id": stored.event_id, "occurred_at": stored.at}
    if stored.command == "feedback.given":
        return FeedbackGiven(
            **about, run_id=stored.run_id, metrics=tuple(stored.metrics), verdict=stored.verdict,
            by=stored.given_by, note=stored.note,
        )  # fmt: skip
    about |= {"by": stored.given_by or "unknown", "check": stored.check_name or "all"}
    if stored.command == "pipeline.muted":
        return PipelineMuted(**about, until=stored.until, reason=stored.note)
    return PipelineUnmuted(**about, note=stored.note)


def _measure(run: StoredRun) -> Mapping[str, Any]:
    """The duration in the words of the end that gave it: in whole milliseconds, else as the time between two others."""
    micros = _micros_of(run)
    if micros is None or run.ended_at is None:
        return {}
    if micros % MILLISECOND == 0:
        return {"duration_ms": micros // MILLISECOND}
    return {"started_at": run.ended_at - micros * MICROSECOND}


def _first_attempt(run: StoredRun) -> int:
    """The attempt of the start: the run's own, unless its duration counts from a start that Postgres does not keep."""
    micros = _micros_of(run)
    return run.attempt or 1 if micros is not None and micros % MILLISECOND == 0 else 1


def _micros_of(run: StoredRun) -> int | None:
    return None if run.duration_seconds is None else round(run.duration_seconds * 1_000_000)
