"""Whether ingestion is well: a pure fold of how far each partition has been read, and when.

Three things make it ill. A partition is `silent` when no pulse of it has come to Postgres for a while, `delayed` when
the pulses that come are old, and the `volume` is ill when the last full hour brought less than a tenth of what the same
hour of the past weeks did. A verdict changes only after it was contradicted for some time without a break.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from statistics import median
from typing import Literal

HOUR, WEEK = timedelta(hours=1), timedelta(weeks=1)
WEEKS = 4
MIN_WEEKS = 2  # fewer say nothing of what is usual
MIN_USUAL = 50.0  # events: a tenth of fewer is within chance
AN_ORDER = 10
LATEST = timedelta(minutes=2)  # pulses are told every half minute: then an hour has its last events

Kind = Literal["silent", "delayed", "volume"]


@dataclass(frozen=True, slots=True)
class Reading:
    """How far a partition has been read: its newest pulse, None before the first, and when that came to Postgres.

    Without a pulse `stored_at` is when a sink last began to wait for one.
    """

    partition: int
    pulse_at: datetime | None
    stored_at: datetime

    @property
    def delay(self) -> timedelta:
        """How long the newest pulse was on its way: all of the partition is so late."""
        return timedelta(0) if self.pulse_at is None else self.stored_at - self.pulse_at


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each thing is borne: silence, delay, illness before it is told of, health before it is believed."""

    silent: timedelta = timedelta(seconds=90)
    delayed: timedelta = timedelta(seconds=300)
    ill: timedelta = timedelta(seconds=60)
    settle: timedelta = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing that is wrong, of one partition or (None) of all; `behind` is for delayed, the counts for volume."""

    kind: Kind
    since: datetime
    partition: int | None = None
    behind: timedelta = timedelta(0)
    events: int = 0
    usual: float = 0.0

    @property
    def place(self) -> tuple[Kind, int | None]:
        """What makes two causes the same one, however far it has grown."""
        return self.kind, self.partition


@dataclass(frozen=True, slots=True)
class Health:
    """The verdict, with its causes while it is ill.

    `since` is when the present verdict began to be true, `turned_at` since when what is seen contradicts it.
    """

    ill: bool = False
    causes: tuple[Cause, ...] = ()
    since: datetime | None = None
    turned_at: datetime | None = None


def causes_of(
    readings: Sequence[Reading], hours: Mapping[datetime, int], now: datetime, patience: Patience
) -> tuple[Cause, ...]:
    """What is wrong at `now`; `hours` are events by the full hour (UTC) in which they were read.

    Nothing is wrong before the first pulse ever: there is nothing yet that could have stopped.
    """
    if all(reading.pulse_at is None for reading in readings):
        return ()
    found = [cause_of(reading, now, patience) for reading in sorted(readings, key=lambda one: one.partition)]
    return tuple(cause for cause in (*found, volume_cause(hours, now)) if cause is not None)


def cause_of(reading: Reading, now: datetime, patience: Patience) -> Cause | None:
    """What is wrong with one partition."""
    if now - reading.stored_at > patience.silent:
        return Cause("silent", reading.stored_at, reading.partition)
    if reading.pulse_at is not None and reading.delay > patience.delayed:
        return Cause("delayed", reading.pulse_at, reading.partition, behind=reading.delay)
    return None


def volume_cause(hours: Mapping[datetime, int], now: datetime) -> Cause | None:
    """Whether the last full hour brought less than a tenth of the usual, and the present one does not make up for it.

    Jobs crowd at some minutes of an hour, so that one which has just begun can acquit and never accuse.
    """
    present = (now - LATEST).replace(minute=0, second=0, microsecond=0)
    last = present - HOUR
    usual = usual_of(hours, last)
    events = hours.get(last, 0)
    if usual is None or events * AN_ORDER >= usual:
        return None
    if hours.get(present, 0) * AN_ORDER >= (usual_of(hours, present) or usual):
        return None
    return Cause("volume", last, events=events, usual=usual)


def usual_of(hours: Mapping[datetime, int], hour: datetime) -> float | None:
    """The median of the same hour of the past four weeks; None when that is too little to compare with.

    An hour without a row brought nothing, unless it was before the first one ever.
    """
    first = min(hours, default=hour)
    past = [hour - number * WEEK for number in range(1, WEEKS + 1)]
    known = [hours.get(one, 0) for one in past if one >= first]
    usual = float(median(known)) if len(known) >= MIN_WEEKS else 0.0
    return usual if usual >= MIN_USUAL else None


def all_fresh(readings: Sequence[Reading], now: datetime, patience: Patience) -> bool:
    """Whether pulses of every partition come through in time; not when there is none to come."""
    heard = all(one.pulse_at is not None and cause_of(one, now, patience) is None for one in readings)
    return bool(readings) and heard


def judge(before: Health, causes: tuple[Cause, ...], now: datetime, patience: Patience) -> Health:
    """The verdict after a look that found `causes`; looks must come in order of `now`."""
    if bool(causes) == before.ill:
        return replace(before, causes=causes, turned_at=None)
    turned_at = before.turned_at or now
    if now - turned_at < (patience.ill if causes else patience.settle):
        return replace(before, turned_at=turned_at)
    since = min(cause.since for cause in causes) if causes else turned_at
    return Health(ill=bool(causes), causes=causes, since=since)


def agree(health: Health, is_open: bool) -> Health:
    """The verdict as Postgres has it: another notifier may have opened or resolved the incident."""
    return health if health.ill == is_open else Health(ill=is_open)
