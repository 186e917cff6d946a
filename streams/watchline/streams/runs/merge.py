"""Merging the events of a run: any order and any repetition of the same events gives the same run."""

from __future__ import annotations

from copy import copy
from datetime import datetime
from typing import TypeVar

from watchline.schemas import RunEnded, RunHeartbeat, RunStarted
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import End, Run

T = TypeVar("T", str, bytes, float)
CONFLICTING_END = "conflicting_end"
LAST = 2**31  # an end that names no attempt ends the last one


def merge_event(run: Run, event: RunStarted | RunHeartbeat | RunEnded) -> bool:
    """Absorb an event of `run`; whether anything changed."""
    if isinstance(event, RunStarted):
        return merge_start(run, event)
    return merge_end(run, event) if isinstance(event, RunEnded) else merge_heartbeat(run, event)


def merge_start(run: Run, event: RunStarted) -> bool:
    """Absorb a start; whether anything changed.

    The earliest start counts; a null never overwrites a value. Where two starts name different values the lesser one
    holds, so that the order in which they come does not matter.
    """
    before = _start_of(run)
    if supersedes(event, run):
        _set_end_aside(run)
    _begin_attempt(run, event.attempt, to_micros(event.occurred_at))
    run.started_at = _earlier(run.started_at, to_micros(event.occurred_at))
    run.start_order = _least(run.start_order, start_order_of(event))
    run.backfill = run.backfill or event.backfill
    run.parent_run_id = _least(run.parent_run_id, event.parent_run_id.bytes if event.parent_run_id else None)
    run.nominal_at = _earlier(run.nominal_at, _micros(event.nominal_at))
    run.heartbeat_seconds = _least(run.heartbeat_seconds, event.heartbeat_seconds)
    run.watermark = _least(run.watermark, event.watermark)
    run.next_watermark = _least(run.next_watermark, event.next_watermark)
    if event.producer:
        run.producer_host = _least(run.producer_host, event.producer.host)
    _add_flags(run, event.flags)
    return _start_of(run) != before


def start_order_of(event: RunStarted) -> bytes:
    """By which of two starts the first is told: its time, then its id."""
    return to_micros(event.occurred_at).to_bytes(8) + event.event_id.bytes[8:]


def merge_heartbeat(run: Run, event: RunHeartbeat) -> bool:
    """Absorb a sign of life; whether anything changed. It never reopens a run that ended."""
    at = to_micros(event.occurred_at)
    if (run.last_heartbeat_at or 0) >= at:
        return False
    run.last_heartbeat_at = at
    return True


def merge_end(run: Run, event: RunEnded) -> bool:
    """Absorb an end; whether anything changed. Of two ends of an attempt the later wins (by time, then by id).

    The end of an attempt that has been followed by another one ends nothing.
    """
    before = _end_of(run)
    if supersedes(event, run):
        _set_end_aside(run)
    held = run.end
    order = (to_micros(event.occurred_at), event.event_id.bytes)
    run.started_at = _earlier(run.started_at, _micros(event.started_at))
    run.backfill = run.backfill or event.backfill
    _add_flags(run, event.flags)
    if is_superseded(event, run):
        return _end_of(run) != before
    if event.attempt is not None:
        _begin_attempt(run, event.attempt, _micros(event.started_at))
    if held and held.event_id != event.event_id.bytes:
        _add_flags(run, (CONFLICTING_END,))
    if held is None or order > (held.ended_at, held.event_id):
        run.end = _read_end(event)
        if held:
            _keep_watermark(run.end, held.next_watermark, _watermark_order(held))
    else:
        _keep_watermark(held, event.next_watermark, order)
    return _end_of(run) != before


def supersedes(event: RunStarted | RunHeartbeat | RunEnded, run: Run) -> bool:
    """Whether `event` belongs to a later attempt than the end that the run has."""
    if run.end is None or run.end.attempt is None or isinstance(event, RunHeartbeat):
        return False
    return (event.attempt or LAST) > run.end.attempt


def is_superseded(event: RunStarted | RunHeartbeat | RunEnded, run: Run) -> bool:
    """Whether `event` is the end of an attempt that a later one has followed already."""
    if not isinstance(event, RunEnded) or event.attempt is None:
        return False
    return event.attempt < (run.attempt or 1) or (run.end is not None and (run.end.attempt or LAST) > event.attempt)


def attempt_of(run: Run, event: RunEnded) -> Run:
    """The run as it stood at the end of an attempt that a later one has followed already."""
    attempt = copy(run)
    attempt.attempt, attempt.end, attempt.attempt_started_at = (
        event.attempt,
        _read_end(event),
        _micros(event.started_at),
    )
    return attempt


def is_end_of(event: RunEnded, run: Run) -> bool:
    """Whether `event` is, for now, the end of the run."""
    return run.end is not None and run.end.event_id == event.event_id.bytes


def duration_of(run: Run) -> int | None:
    """How long the run took in microseconds: as measured, else end minus start.

    None when unknown, and when the end lies before the start: then no time of the run can be trusted.
    """
    if run.end is None or ends_before_start(run):
        return None
    if run.end.duration is not None:
        return run.end.duration
    begun = run.attempt_started_at if (run.attempt or 1) > 1 else run.started_at
    return None if begun is None or begun > run.end.ended_at else run.end.ended_at - begun


def ends_before_start(run: Run) -> bool:
    """Whether the reported times contradict each other."""
    return run.end is not None and run.started_at is not None and run.end.ended_at < run.started_at


def flags_of(run: Run) -> list[str]:
    """What was repaired or does not fit: the flags of the events, and an end before the start."""
    return sorted({*run.flags, "negative_duration"}) if ends_before_start(run) else run.flags


def begun_at(run: Run) -> int | None:
    """When the run began: as reported, else its end minus its duration, else its end.

    A start after the end can't be trusted, so then the run began when it ended.
    """
    if run.end is None or (run.started_at is not None and not ends_before_start(run)):
        return run.started_at
    return run.end.ended_at - (duration_of(run) or 0)


def throughput_of(run: Run) -> float | None:
    """Rows a second over the whole run, None without rows or time."""
    duration = duration_of(run)
    if run.end is None or not duration:
        return None
    rows = run.end.total_rows
    if rows is None:
        changes = [n for n in (run.end.inserts, run.end.updates, run.end.deletes) if n is not None]
        rows = sum(changes) if changes else None
    return None if rows is None else rows / (duration / SECOND)


def _set_end_aside(run: Run) -> None:
    """Another attempt follows: neither the end nor what was odd about it is the run's any more."""
    run.end = None
    run.flags = [flag for flag in run.flags if flag != CONFLICTING_END]


def _begin_attempt(run: Run, attempt: int, at: int | None) -> None:
    if attempt > (run.attempt or 0):
        run.attempt, run.attempt_started_at = attempt, at
    elif attempt == run.attempt:
        run.attempt_started_at = _earlier(run.attempt_started_at, at)


def _start_of(run: Run) -> tuple[object, ...]:
    return (
        run.started_at, run.start_order, run.attempt, run.backfill, run.parent_run_id, run.nominal_at,
        run.heartbeat_seconds, run.watermark, run.next_watermark, run.producer_host, len(run.flags),
        run.attempt_started_at, run.end is None,
    )  # fmt: skip


def _end_of(run: Run) -> tuple[object, ...]:
    end = run.end
    return (
        run.started_at, run.backfill, len(run.flags), run.attempt, run.attempt_started_at,
        end and end.event_id, end and end.next_watermark,
    )  # fmt: skip


def _read_end(event: RunEnded) -> End:
    return End(
        event.event_id.bytes,
        to_micros(event.occurred_at),
        event.status,
        event.reported_status,
        None if event.duration_ms is None else event.duration_ms * 1000,
        event.inserts,
        event.updates,
        event.deletes,
        event.total_rows,
        event.next_watermark,
        attempt=event.attempt,
    )


def _watermark_order(end: End) -> tuple[int, bytes]:
    return end.watermark_order or (end.ended_at, end.event_id)


def _keep_watermark(end: End, watermark: str | None, order: tuple[int, bytes]) -> None:
    """Give `end` the next watermark of another end, if that is the latest one to name any."""
    if watermark is not None and (end.next_watermark is None or order > _watermark_order(end)):
        end.next_watermark, end.watermark_order = watermark, order


def _micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _earlier(held: int | None, seen: int | None) -> int | None:
    return seen if held is None else held if seen is None else min(held, seen)


def _least(held: T | None, seen: T | None) -> T | None:
    return held if seen is None else seen if held is None or seen < held else held


def _add_flags(run: Run, flags: tuple[str, ...]) -> None:
    if not set(flags) <= set(run.flags):
        run.flags = sorted({*run.flags, *flags})
