"""When a pipeline is expected to start: its schedule read once, and the slots that come of it.

Slots are reckoned on the wall clock of the zone, as Debian's cron does (docs/adr/0008-cron.md): 09:00 stays 09:00, a
skipped hour gives one slot at the first instant after it, a repeated hour one slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from hashlib import sha256
from itertools import takewhile
from math import ceil
from typing import Literal

import structlog
from cronsim import CronSim, CronSimError

from watchline.schemas.cron import read_cron, read_dates, read_zone
from watchline.schemas.declaration import Schedule
from watchline.streams.instants import SECOND, to_datetime, to_micros

log = structlog.get_logger()
LOOKED_BACK = (1, 25, 8 * 24, 32 * 24, 367 * 24, 4 * 367 * 24)  # hours


@dataclass(frozen=True, slots=True)
class Timetable:
    """A schedule that can be reckoned with; times in microseconds."""

    cron: str
    zone: tzinfo
    timezone: str
    grace: int
    early: int
    digest: bytes
    excluded: tuple[tuple[date, date], ...] = ()
    paused_until: int | None = None

    def after(self, at: int) -> Iterator[int]:
        """The slots after `at`, each later than the one before; none for a line that never comes."""
        try:
            for moment in CronSim(self.cron, to_datetime(at).astimezone(self.zone)):
                due = to_micros(moment)
                if due > at:  # within a repeated hour cron looks at its first pass again
                    at = due
                    yield due
        except (CronSimError, OverflowError, ValueError):  # a day that never comes, the end of the year 9999
            return

    def before(self, at: int) -> int | None:
        """The newest slot up to and including `at`, of the four years before it."""
        for hours in LOOKED_BACK:
            since = at - hours * 3600 * SECOND
            if self._comes(since, at):
                return self._newest(since, at)
        return None

    def _comes(self, since: int, until: int) -> bool:
        due = next(self.after(since), None)
        return due is not None and due <= until

    def _newest(self, since: int, until: int) -> int | None:
        """The newest slot between the two; there is one. By halving, as there may be one a minute for months."""
        nothing_after = until
        while nothing_after - since > 60 * SECOND:
            middle = (since + nothing_after) // 2
            if self._comes(middle, until):
                since = middle
            else:
                nothing_after = middle
        return max(takewhile(lambda due: due <= until, self.after(since)), default=None)

    def excuse(self, due: int) -> Literal["paused", "excluded"] | None:
        """Why nobody has to start at `due`."""
        if self.paused_until is not None and due < self.paused_until:
            return "paused"
        day = self.local(due).date()
        return "excluded" if any(first <= day <= last for first, last in self.excluded) else None

    def local(self, due: int) -> datetime:
        """A slot on the wall clock of the zone."""
        return to_datetime(due).astimezone(self.zone)

    def name(self, due: int) -> str:
        """A slot in its zone: "2026-11-30 09:00 Europe/Berlin"."""
        return f"{self.local(due):%Y-%m-%d %H:%M} {self.timezone}"

    def full_name(self, due: int) -> str:
        """A slot in its zone and in UTC."""
        local, utc = self.name(due), f"{to_datetime(due):%Y-%m-%d %H:%M} UTC"
        return utc if local == utc else f"{local} ({utc})"

    def day_before(self, due: int, days: int) -> date:
        """The local day that many days before the one of a slot."""
        return self.local(due).date() - timedelta(days=days)

    def end_of(self, day: date) -> int:
        """The midnight after a local day; where there is none, the first instant after it."""
        return to_micros(datetime.combine(day + timedelta(days=1), time(), self.zone))


def read_times(cron: str, timezone: str, *more: object) -> Timetable | None:
    """The times of a cron line in a zone; None, as logged, when they can't be reckoned with. `more` is what else makes
    two of them differ.
    """
    timetable = read_timetable(Schedule(cron=cron, timezone=timezone))
    if timetable is None or not more:
        return timetable
    return replace(timetable, digest=sha256(b"%b %r" % (timetable.digest, more)).digest()[:8])


def read_timetable(schedule: Schedule | None) -> Timetable | None:
    """The timetable of a schedule; None without one, and (logged) for one that can't be reckoned with here.

    An unknown zone is no UTC: a start missed in the wrong zone would be a false alarm every day.
    """
    if schedule is None:
        return None
    try:
        return Timetable(
            cron=read_cron(schedule.cron),
            zone=UTC if schedule.timezone == "UTC" else read_zone(schedule.timezone),
            timezone=schedule.timezone,
            grace=ceil(schedule.grace_seconds * SECOND),
            early=ceil(schedule.early_seconds * SECOND),
            digest=sha256(schedule.model_dump_json().encode()).digest()[:8],
            excluded=tuple(map(read_dates, schedule.exclude)),
            paused_until=None if schedule.paused_until is None else to_micros(schedule.paused_until),
        )
    except ValueError as error:
        log.warning("schedule.unusable", cron=schedule.cron, timezone=schedule.timezone, error=str(error))
        return None
