"""Deadlines on the clock: by then a run has to have succeeded since the deadline before.

One incident per pipeline, under a subject of its own: it warns while a run can still be expected to be too late, and
fails at the deadline. A pipeline whose failure is known already hears nothing new: that incident notes the deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

from watchline.schemas.records import IncidentFact
from watchline.streams.detection import quantile, rule_for
from watchline.streams.instants import SECOND, to_words
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import OpenIncident, Promise, Run, RunsRow
from watchline.streams.runs.baselines import Baselines
from watchline.streams.runs.incidents import (
    Scene,
    Severity,
    facts_of,
    find_incident,
    open_incident,
    renew_incident,
    resolve_incident,
)
from watchline.streams.runs.judgement import local_seconds
from watchline.streams.runs.promises import (
    DEADLINE_MISSED,
    advance,
    begin_promise,
    is_current,
    promise_due_at,
)
from watchline.streams.runs.timeliness import KNOWN_RUNS, MOST_SECONDS, P99
from watchline.streams.slots.matching import meant_at
from watchline.streams.slots.timetable import Timetable

SUBJECT: Final = "deadline"
KEPT_DONE = 8  # successes since the last deadline


def deadline_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When a pulse may have something to decide about the deadline: it passes, or a warning is due."""
    dues = [
        promise_due_at(_timetable_of(scene), row.done_by, at), warning_due_at(scene, row, at),
        _untold_due_at(scene, row, at),
    ]  # fmt: skip
    return min((due for due in dues if due is not None), default=None)


def watch_deadline(
    scene: Scene, row: RunsRow, at: int, *, resumed_at: int, known: Iterable[Run], baselines: Baselines
) -> bool:
    """Decide at the pulse `at` about a deadline that has passed, and warn of the next; whether the row changed.

    `resumed_at` is the pulse that ended the last gap: of a deadline before it nothing is said. A deadline that is new
    counts what the `known` runs did.
    """
    timetable, promise = _timetable_of(scene), row.done_by
    if timetable is None:
        return _dismiss(scene, row, at)
    changed = True
    if promise is None or not is_current(promise, timetable) or is_ahead(promise.reckoned_at, at):
        promise = _begin(scene, row, timetable, at, known)
    elif advance(promise, timetable, at):
        _judge(scene, row, promise, timetable, at, resumed_at=resumed_at)
    elif (told := _untold_due_at(scene, row, at)) is not None and told <= at:
        _tell_missed(scene, row, promise, timetable, at)
    else:
        changed = False
    if changed:
        _learn(scene, promise, baselines)
    if (due := warning_due_at(scene, row, at)) is not None and due <= at:
        _warn(scene, row, promise, timetable, at)
    return changed


def notice_success(scene: Scene, row: RunsRow, run: Run, *, now: int, baselines: Baselines) -> None:
    """Take a run that succeeded, read at `now`, for the deadline, and end the incident that waited for it.

    A run that was meant for a deadline that was missed is late for that one and does not count for the next.
    """
    timetable, promise = _timetable_of(scene), row.done_by
    if timetable is None or promise is None or not is_current(promise, timetable):
        return
    ended = _success_of(run, now)
    if ended is None:
        return
    _learn(scene, promise, baselines)
    counts = _count(promise, run, now=now)
    incident, previous, since = _incident_of(row), promise.previous or 0, promise.since or 0
    if incident is not None and (counts if incident.cause_at > previous else ended > since):
        incident.run_id = run.run_id
        late = incident.severity == "fail"
        resolve_incident(scene, row, incident, at=ended, reason="arrived_late" if late else "recovered")
    if ended > since:
        promise.untold = False
    if since < ended <= previous:
        promise.missed = False  # it was in time: only the news of it was late


def hide_deadline(row: RunsRow, incident: OpenIncident) -> None:
    """Remember that the incident of a missed deadline was ended by a mute, and not by a success."""
    promise = row.done_by
    if promise is not None and incident.subject == SUBJECT and incident.cause_at == promise.previous:
        promise.untold = promise.missed


def warning_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When it is foreseeable that the next deadline will be missed; None when it is not, or known already.

    Of the runs that are open the one that should end first counts: its start and the learned median of the durations.
    With none open, a run that starts then would end too late.
    """
    promise = row.done_by
    if promise is None or promise.next is None or promise.expected is None:
        return None
    if promise.done or promise.warned or _incident_of(row) is not None or _failure_of(row) is not None:
        return None
    begun = _first_begun(row)
    if begun is not None and begun + promise.expected <= promise.next:
        return None
    due = max(promise.next - promise.expected if begun is None else begun, (promise.previous or 0) + 1)
    declared = scene.declared
    return due if declared.watches("timeliness", max(due, at)) else declared.unmuted_at("timeliness", max(due, at))


def _begin(scene: Scene, row: RunsRow, timetable: Timetable, at: int, known: Iterable[Run]) -> Promise:
    """Wait for the first deadline after `at`; what a clock ahead has judged is taken back, what is past stays."""
    incident = _incident_of(row)
    changed = row.done_by is None or not is_current(row.done_by, timetable)
    if incident is not None and (changed or incident.cause_at > at):
        resolve_incident(scene, row, incident, at=at, reason="recovered")
    promise = row.done_by = begin_promise(timetable, at)
    for run in known:
        _count(promise, run, now=at)
    return promise


def _judge(scene: Scene, row: RunsRow, promise: Promise, timetable: Timetable, at: int, *, resumed_at: int) -> None:
    """Decide about the deadline that has just passed."""
    due, incident = promise.previous or 0, _incident_of(row)
    met = any((promise.since or 0) < done <= due for done in promise.done)
    promise.done = [done for done in promise.done if done > due]
    if met or due <= resumed_at:
        if met and incident:
            resolve_incident(scene, row, incident, at=at, reason="recovered")
        return
    promise.missed, promise.untold = True, not promise.done
    if scene.declared.watches("timeliness", at) or _failure_of(row) is not None:
        _tell_missed(scene, row, promise, timetable, at)


def _untold_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When a deadline that was missed within a mute can be told."""
    untold = row.done_by is not None and row.done_by.untold
    return scene.declared.unmuted_at("timeliness", at) if untold else None


def _tell_missed(scene: Scene, row: RunsRow, promise: Promise, timetable: Timetable, at: int) -> None:
    """Open the incident of the deadline that was missed last, make its warning worse, or let the failure note it."""
    due, incident, failure, promise.untold = promise.previous or 0, _incident_of(row), _failure_of(row), False
    if failure is not None:
        _annotate(scene, row, failure, timetable, due, at)
    if not scene.declared.watches("timeliness", at):
        return
    title, facts, run = f"not done by {timetable.name(due)}", _facts_of(row, promise, timetable, due), _newest(row)
    if incident is not None:
        severity: Severity = "fail" if failure is None else incident.severity
        incident.cause_at = due
        renew_incident(scene, row, incident, at=at, severity=severity, title=title, facts=facts, run_id=run)
    elif failure is None:
        open_incident(
            scene, row, "timeliness", at=at, cause_at=due, severity="fail", title=title, facts=facts,
            subject=SUBJECT, run_id=run,
        )  # fmt: skip


def _warn(scene: Scene, row: RunsRow, promise: Promise, timetable: Timetable, at: int) -> None:
    due, promise.warned = promise.next or at, True
    open_incident(
        scene, row, "timeliness", at=at, cause_at=at, severity="warn", subject=SUBJECT, run_id=_newest(row),
        title=f"will not be done by {timetable.name(due)}", facts=_facts_of(row, promise, timetable, due),
    )  # fmt: skip


def _annotate(scene: Scene, row: RunsRow, failure: OpenIncident, timetable: Timetable, due: int, at: int) -> None:
    """Add the deadline to the incident of the failure; nobody is told again, as it gets no worse."""
    others = [fact for fact in facts_of(failure) if fact.name != DEADLINE_MISSED]
    missed = IncidentFact(name=DEADLINE_MISSED, value=timetable.full_name(due), unit="text")
    renew_incident(
        scene, row, failure, at=at, severity=failure.severity, title=failure.title, facts=[*others, missed],
        run_id=failure.run_id,
    )  # fmt: skip


def _facts_of(row: RunsRow, promise: Promise, timetable: Timetable, due: int) -> Sequence[IncidentFact]:
    since = promise.since if due == promise.previous else promise.previous
    told = None if since is None else f"no run has succeeded since {timetable.name(since)}"
    facts = [IncidentFact(name="due", value=timetable.full_name(due), unit="text", note=told)]
    if promise.expected is not None:
        begun = _first_begun(row)
        note = "none is running in time" if begun is None else f"running since {to_words(begun)}"
        facts.append(IncidentFact(name="usual duration", value=promise.expected / SECOND, unit="seconds", note=note))
    return facts


def _dismiss(scene: Scene, row: RunsRow, at: int) -> bool:
    """Wait for nothing any more; whether anything was waited for."""
    if row.done_by is None:
        return False
    row.done_by = None
    if incident := _incident_of(row):
        resolve_incident(scene, row, incident, at=at, reason="recovered")
    return True


def _count(promise: Promise, run: Run, *, now: int) -> bool:
    """Count a run for the next deadline if it succeeded since the last one and was not meant for that."""
    ended, meant = _success_of(run, now), meant_at(run)
    if ended is None or meant is None or ended <= (promise.previous or 0):
        return False
    if promise.missed and meant < (promise.previous or 0):
        return False
    promise.done = sorted({*promise.done, ended})
    del promise.done[1 : 1 - KEPT_DONE or None]  # the first one is in time if any is
    return True


def _success_of(run: Run, now: int) -> int | None:
    """When a run succeeded; None if it did not, and for a backfill. A clock that runs ahead counts as `now`."""
    if run.backfill or run.end is None or run.end.status != "succeeded":
        return None
    return min(run.end.ended_at, now)


def _running_since(run: Run) -> int | None:
    """When the newest attempt of an open run began; None for a backfill, and for a run that is lost or overdue."""
    return None if run.backfill or run.lost or run.overdue else run.attempt_started_at or run.started_at


def _first_begun(row: RunsRow) -> int | None:
    return min((begun for run in row.open if (begun := _running_since(run)) is not None), default=None)


def _newest(row: RunsRow) -> bytes | None:
    return next((run.run_id for run in reversed(row.open) if not run.backfill), None)


def _learn(scene: Scene, promise: Promise, baselines: Baselines) -> None:
    """Remember how long a run usually takes at the time of the next deadline; fewer than 30 runs teach nothing."""
    rule, baseline = rule_for("duration_seconds", scene.declared.rules), baselines.known("duration_seconds")
    promise.expected = None
    if rule is None or baseline is None or baseline.runs < KNOWN_RUNS or promise.next is None:
        return
    expected, _ = quantile(baseline, rule, local_seconds(scene, promise.next), P99)
    promise.expected = ceil(min(max(expected, 0.0), MOST_SECONDS) * SECOND)


def _failure_of(row: RunsRow) -> OpenIncident | None:
    """The failure that is open, unless it only waits for its end."""
    failure = find_incident(row, "failure")
    return failure if failure is not None and failure.cleared_at is None else None


def _incident_of(row: RunsRow) -> OpenIncident | None:
    return find_incident(row, "timeliness", SUBJECT)


def _timetable_of(scene: Scene) -> Timetable | None:
    return scene.declared.done_by if scene.declared.active else None
