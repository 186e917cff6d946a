"""How fresh the data is, in two numbers, each with a limit that warns and one that fails.

Age counts from the last insert, update or delete; lag is how far the watermark of kind `timestamp` is behind. Beside
them the day that had to be complete by a time of the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from watchline.schemas.records import IncidentFact
from watchline.streams.instants import SECOND, to_words
from watchline.streams.rows import OpenIncident, Run, RunsRow
from watchline.streams.runs.completeness import (
    completeness_due_at,
    fact_of,
    incomplete_since,
    note_of,
    reached_of,
    title_of,
    watch_completeness,
)
from watchline.streams.runs.hysteresis import recover_incident, relapse
from watchline.streams.runs.incidents import Scene, Severity, find_incident, open_incident, renew_incident

Measure = Literal["age", "lag", "by"]
TITLES: dict[tuple[Measure, Severity], str] = {
    ("age", "fail"): "data is stale",
    ("age", "warn"): "data is getting old",
    ("lag", "fail"): "data is behind: the watermark lags",
    ("lag", "warn"): "data is falling behind: the watermark lags",
}


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit of one measure, and when it is passed unless the data changes before (microseconds)."""

    measure: Measure
    severity: Severity
    limit: int
    counted_from: int

    @property
    def passed_at(self) -> int:
        return self.counted_from + self.limit


def record_change(row: RunsRow, run: Run, now: int) -> bool:
    """Remember when `run` changed data; whether the data became newer. A backfill makes nothing fresh.

    A time ahead of `now` (a clock that runs ahead) counts as `now`.
    """
    end = run.end
    if end is None or run.backfill or not any((end.inserts, end.updates, end.deletes)):
        return False
    changed_at = min(end.ended_at, now)
    if row.last_change_at is not None and changed_at <= row.last_change_at:
        return False
    row.last_change_at = changed_at
    _speak_again(row)
    return True


def freshness_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When `watch_freshness` may decide something new, after `at`: a bound is passed, or the data is fresh again."""
    bounds = list(bounds_of(scene, row))
    incident, worst = find_incident(row, "freshness"), worst_of(bounds, at)
    cleared = incident is not None and incident.cleared_at is not None
    quiet = incident is None and _is_quiet(row, worst)
    if quiet and worst is None:
        return at
    if incident is not None and not cleared and (worst is None or _is_news(incident, worst)):
        return at
    if cleared and worst is not None:
        return at  # it has come back
    coming = [bound.passed_at for bound in bounds if bound.passed_at > at]
    coming += [due] if (due := completeness_due_at(scene, row, at)) is not None else []
    if incident is None and not quiet and worst is not None and scene.declared.active:  # a mute hides it
        coming += [unmuted] if (unmuted := scene.declared.unmuted_at("freshness", at)) is not None else []
    return min(coming, default=None)


def watch_freshness(scene: Scene, row: RunsRow, at: int, *, resumed_at: int) -> bool:
    """Open, renew or let recover the freshness incident by the bounds that are passed at the pulse `at`.

    Returns whether something else changed in the row. `resumed_at` is the pulse that ended the last gap of pulses.
    """
    changed = watch_completeness(scene, row, at, resumed_at=resumed_at)
    missed = changed and incomplete_since(scene, row) is not None
    incident, worst = find_incident(row, "freshness"), worst_of(bounds_of(scene, row), at)
    if worst is None:
        _speak_again(row)
        if incident:
            recover_incident(scene, row, incident, at=at)
    elif incident is None:
        if not _is_quiet(row, worst) and scene.declared.watches("freshness", at):
            _speak_again(row)
            _open(scene, row, worst, at)
    elif missed or _is_news(incident, worst):
        renew_incident(
            scene, row, incident, at=at, severity=worst.severity, title=_title_of(scene, worst),
            facts=_facts_of(scene, row, at), run_id=incident.run_id,
        )  # fmt: skip
    else:
        relapse(scene, row, incident, at=at)
    return changed


def notice_change(scene: Scene, row: RunsRow, clock: int) -> None:
    """Let the freshness incident recover as of the last change, if all is fresh at the pulse `clock`.

    An event never opens one, only a pulse does. `clock` is 0 until a worker has read a pulse; but it is never less than
    the pulse that opened the incident, so a worker that has just started decides as one that never stopped.
    """
    changed_at, incident = row.last_change_at, find_incident(row, "freshness")
    if incident is None or changed_at is None:
        return
    if worst_of(bounds_of(scene, row), max(clock, incident.opened_at)) is None:
        recover_incident(scene, row, incident, at=changed_at)


def bounds_of(scene: Scene, row: RunsRow) -> Iterator[Bound]:
    """The declared bounds; what never changed or never had a watermark counts from the first declaration."""
    declared = scene.declared
    first = declared.first_declared_at or 0
    changed_at = first if row.last_change_at is None else row.last_change_at
    watermark_at, due = reached_of(scene), incomplete_since(scene, row)
    candidates: tuple[tuple[Measure, Severity, int | None, int], ...] = (
        ("age", "fail", declared.freshness_limit, changed_at),
        ("lag", "fail", declared.lag_limit, watermark_at),
        ("by", "fail", None if due is None else 0, due or 0),
        ("age", "warn", declared.freshness_warning, changed_at),
        ("lag", "warn", declared.lag_warning, watermark_at),
    )
    for measure, severity, limit, counted_from in candidates:
        if limit is not None:
            yield Bound(measure, severity, limit, counted_from)


def worst_of(bounds: Iterable[Bound], at: int) -> Bound | None:
    """The worst bound that is passed at `at`; failing ones come first."""
    return next((bound for bound in bounds if bound.passed_at <= at), None)


def _is_news(incident: OpenIncident, worst: Bound) -> bool:
    """Whether it got worse: what is open warns, and this fails."""
    return worst.severity == "fail" and incident.severity == "warn"


def _is_quiet(row: RunsRow, worst: Bound | None) -> bool:
    """Whether somebody closed the incident by hand since the data was fresh, and it has got no worse."""
    worse = worst is not None and worst.severity == "fail" and "freshness" in row.quiet_warnings
    return "freshness" in row.quiet and not worse


def _speak_again(row: RunsRow) -> None:
    row.quiet = [kind for kind in row.quiet if kind != "freshness"]
    row.quiet_warnings = [kind for kind in row.quiet_warnings if kind != "freshness"]


def _open(scene: Scene, row: RunsRow, worst: Bound, at: int) -> None:
    open_incident(
        scene, row, "freshness", at=at, cause_at=worst.passed_at, severity=worst.severity,
        title=_title_of(scene, worst), facts=_facts_of(scene, row, at),
    )  # fmt: skip


def _title_of(scene: Scene, bound: Bound) -> str:
    if bound.measure == "by":
        return title_of(scene, bound.counted_from)
    return TITLES[bound.measure, bound.severity]


def _facts_of(scene: Scene, row: RunsRow, at: int) -> list[IncidentFact]:
    """Each measure with the worst bound that it has passed."""
    passed: dict[Measure, Bound] = {}
    for bound in bounds_of(scene, row):
        if bound.passed_at <= at:
            passed.setdefault(bound.measure, bound)
    return [
        fact_of(scene, bound.counted_from)
        if measure == "by"
        else IncidentFact(
            name=measure,
            value=(at - bound.counted_from) / SECOND,
            limit=bound.limit / SECOND,
            unit="seconds",
            note=_note_of(scene, row, measure),
        )
        for measure, bound in passed.items()
    ]


def _note_of(scene: Scene, row: RunsRow, measure: Measure) -> str:
    if measure == "age":
        changed = row.last_change_at
        return "nothing was ever loaded" if changed is None else f"last change {to_words(changed)}"
    return note_of(scene)
