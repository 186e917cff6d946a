"""When a pipeline is expected to start: its schedule read once, and the slots that come of it.

Slots are reckoned on the wall clock of the zone, as Debian's cron does (docs/adr/0008-cron.md): 09:00 stays 09:00, a
skipped hour gives one slot at the first instant after it, a repeated hour one slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha256
from math import ceil
from typing import Literal

import structlog
from cronsim import CronSim, CronSimError

from watchline.schemas.cron import read_cron, read_dates, read_zone
from watchline.schemas.declaration import Schedule
from watchline.streams.instants import SECOND, to_datetime, to_micros

log = structlog.get_logger()


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

    def excuse(self, due: int) -> Literal["paused", "excluded"] | None:
        """Why nobody has to start at `due`."""
        if self.paused_until is not None and due < self.paused_until:
            return "paused"
        day = self.local(due).date()
        return "excluded" if any(first <= day <= last for first, last in self.excluded) else None

    def local(self, due: int) -> datetime:
        """A slot on the wall clock of the zone."""
        return to_datetime(due).astimezone(self.zone)


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
