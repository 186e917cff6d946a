"""What a pipeline has declared: the fold that keeps the newest declaration, and the limits in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo

import structlog

from watchline.schemas import PipelineDeclared, encode
from watchline.schemas.declaration import AnomalyRule, Mute, Part, Retries, TypeDefaults
from watchline.schemas.records import PipelineRecord, revision_of
from watchline.streams.effects import Effects
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import DeclarationRow
from watchline.streams.slots.timetable import Timetable, read_times, read_timetable

log = structlog.get_logger()
KEPT_FIRING = {"freshness": 300 * SECOND}  # unless declared: data that flaps round its limit is one incident


@dataclass(frozen=True)
class Declared:
    """The limits, mutes and rules of one pipeline, its type's defaults applied; times in microseconds."""

    active: bool = True
    owner: str | None = None
    type: str | None = None
    freshness_limit: int | None = None
    freshness_warning: int | None = None
    lag_limit: int | None = None
    lag_warning: int | None = None
    timeliness_limit: int | None = None
    mutes: tuple[Mute, ...] = ()
    rules: tuple[AnomalyRule, ...] = ()
    retries: Retries | None = None
    timezone: str = "UTC"
    first_declared_at: int | None = None
    timetable: Timetable | None = None
    keep_firing: tuple[tuple[str, int], ...] = ()  # how long each kind of incident outlives its condition
    commanded: tuple[tuple[str, int], ...] = ()  # checks muted by command, and until when
    complete_by: Timetable | None = None
    complete_days: int = 1
    done_by: Timetable | None = None

    def watches(self, check: str, at: int) -> bool:
        """Whether `check` may have an incident at `at`: active, not muted, and with a limit for the age of data."""
        if not self.active or (check == "freshness" and not self.limits_freshness):
            return False
        if check == "missed_start" and self.timetable is None:
            return False
        if any(_covers(mute, check, at) for mute in self.mutes):
            return False
        return not any(name in (check, "all") and at < until for name, until in self.commanded)

    @property
    def limits_lag(self) -> bool:
        """Whether the watermark may only be so far behind, or has to get somewhere in time."""
        return self.lag_limit is not None or self.lag_warning is not None or self.complete_by is not None

    @property
    def limits_freshness(self) -> bool:
        """Whether data may only be so old, or so far behind."""
        return self.limits_lag or self.freshness_limit is not None or self.freshness_warning is not None

    def unmuted_at(self, check: str, at: int) -> int | None:
        """When the mutes that cover `check` at `at` will all have ended; None when one has no end."""
        ends = [mute.until for mute in self.mutes if _covers(mute, check, at)]
        known = [to_micros(end) for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        known += [until for name, until in self.commanded if name in (check, "all") and at < until]
        return max(known, default=at)

    def outlives(self, kind: str) -> int:
        """How long an incident of `kind` stays open after its condition has cleared."""
        return dict(self.keep_firing).get(kind, 0)

    def with_mutes(self, commanded: Mapping[str, int]) -> Declared:
        """The same with exactly these mutes by command."""
        found = tuple(commanded.items())
        return self if found == self.commanded else replace(self, commanded=found)

    @cached_property
    def zone(self) -> ZoneInfo | None:
        """The zone of the schedule; None for UTC, and for a name that this machine does not know."""
        if self.timezone == "UTC":
            return None
        try:
            return ZoneInfo(self.timezone)
        except (KeyError, ValueError, OSError):  # not found, not a name, not a file: all of them come of odd names
            log.warning("timezone.unknown", timezone=self.timezone, used="UTC")
            return None


UNDECLARED = Declared()


def _covers(mute: Mute, check: str, at: int) -> bool:
    return mute.check in (check, "all") and (mute.until is None or at < to_micros(mute.until))


def fold_declaration(row: DeclarationRow, event: PipelineDeclared, *, epoch: int, effects: Effects) -> None:
    """Keep the declaration that was made last (by time, then by id), whatever the order of arrival."""
    declared_at = to_micros(event.occurred_at)
    row.first_declared_at = min(row.first_declared_at or declared_at, declared_at)
    if (declared_at, event.event_id.bytes) <= (row.declared_at, row.event_id):
        return
    row.declared_at, row.event_id, row.declaration = declared_at, event.event_id.bytes, encode(event)
    effects.state.append(
        PipelineRecord(pipeline=event.pipeline, revision=revision_of(epoch, row.offset), declaration=event)
    )


def read_declaration(row: DeclarationRow) -> Declared:
    """The limits in force under `row`."""
    event = PipelineDeclared.model_validate_json(row.declaration)
    defaults = event.type_defaults or TypeDefaults()
    freshness, timeliness = (event.freshness, defaults.freshness), (event.timeliness, defaults.timeliness)
    age = _first(freshness, "max_age_seconds", "warn_age_seconds")
    lag = _first(freshness, "max_lag_seconds", "warn_lag_seconds")
    (complete,), (done,) = _first(freshness, "complete_by"), _first(timeliness, "done_by")
    return Declared(
        active=event.active,
        owner=event.owner,
        type=event.type,
        freshness_limit=_micros(age[0]),
        freshness_warning=_micros(age[1]),
        lag_limit=_micros(lag[0]),
        lag_warning=_micros(lag[1]),
        timeliness_limit=_micros(_first(timeliness, "max_duration_seconds")[0]),
        mutes=event.mutes + defaults.mutes,
        keep_firing=_keep_firing(event),
        rules=event.anomaly_rules,
        retries=event.retries,
        timezone=event.schedule.timezone if event.schedule else "UTC",
        first_declared_at=row.first_declared_at,
        timetable=read_timetable(event.schedule),
        complete_by=read_times(complete.cron, complete.timezone, complete.days) if complete else None,
        complete_days=complete.days if complete else 1,
        done_by=read_times(done.cron, done.timezone) if done else None,
    )


def _first(parts: Sequence[Part | None], *names: str) -> list[Any]:
    """The values of `names` in the first part that gives any of them: the pipeline's own before its type's."""
    found = ([getattr(part, name) for name in names] for part in parts if part is not None)
    return next((values for values in found if any(value is not None for value in values)), [None] * len(names))


def _micros(seconds: float | None) -> int | None:
    return None if seconds is None else ceil(seconds * SECOND)


def _keep_firing(event: PipelineDeclared) -> tuple[tuple[str, int], ...]:
    """Ours, then those of the type, then those of the pipeline: the last word holds."""
    said = (event.type_defaults.keep_firing if event.type_defaults else ()) + event.keep_firing
    return tuple((KEPT_FIRING | {one.check: ceil(one.seconds * SECOND) for one in said}).items())
