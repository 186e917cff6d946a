"""Scheduled pipelines on the in-memory log: pulses as regular as a worker's, and what became of each slot."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from folds.log import KEY, Log
from watchline.schemas import Schedule
from watchline.streams.declarations import Declared
from watchline.streams.instants import to_micros
from watchline.streams.runs.desk import Rhythm
from watchline.streams.runs.fold import RunsEvent
from watchline.streams.slots.timetable import Timetable, read_times, read_timetable

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
REGULAR = Rhythm(pulse=60, settle=120, epoch=0)  # more than three minutes without a pulse are a gap


def utc(text: str) -> datetime:
    """A time in UTC: "2026-12-01 06:00"."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def timetable(cron: str, timezone: str = "UTC", **fields: Any) -> Timetable:
    found = read_timetable(Schedule(cron=cron, timezone=timezone, **fields))
    assert found is not None
    return found


def scheduled(cron: str, timezone: str = "UTC", *, declared: Declared | None = None, **fields: Any) -> Declared:
    """A pipeline with this schedule; the fields are those of `Schedule`."""
    return replace(declared or Declared(), timetable=timetable(cron, timezone, **fields))


def times(cron: str, timezone: str = "UTC", *more: object) -> Timetable:
    """The times of a promise."""
    found = read_times(cron, timezone, *more)
    assert found is not None
    return found


def watched(declared: Declared, begin: datetime, *, rhythm: Rhythm = REGULAR) -> Log:
    """A log whose pulses have settled at `begin`, so that the next slot after it is expected."""
    log = Log(declared, rhythm)
    pulses(log, begin - timedelta(seconds=rhythm.settle), begin)
    return log


def pulses(log: Log, begin: datetime, end: datetime, *, every: timedelta = MINUTE) -> None:
    """Pulses from `begin` to `end`, both included."""
    at = begin
    while at < end:
        log.pulse(at)
        at += every
    log.pulse(end)


def tell(log: Log, *events: RunsEvent) -> None:
    """Events that are read as soon as they have occurred."""
    log.append(*events, now=max(event.occurred_at for event in events))


def reach(log: Log, watermark: datetime) -> None:
    """The watermark advances between two records."""
    log.watermark_at = to_micros(watermark)
    log.desk.wake(KEY)


def declare(log: Log, declared: Declared) -> None:
    """A declaration between two records."""
    log.declared = declared
    log.desk.wake(KEY)


def states(log: Log) -> list[str]:
    """What became of each slot, in their order, as the sink has it."""
    return [log.slots[due].state for due in sorted(log.slots)]
