"""Runs that take longer than their limit, seen while they are still running.

The limit is the declared one, else what the pipeline's own runs have taught, else a day.
"""

from __future__ import annotations

from math import ceil
from uuid import UUID

from watchline.schemas.records import IncidentFact
from watchline.streams.detection import quantile, rule_for
from watchline.streams.instants import SECOND
from watchline.streams.rows import OpenIncident, Run, RunsRow
from watchline.streams.runs.baselines import Baselines
from watchline.streams.runs.incidents import Scene, find_incident, open_incident, resolve_incident
from watchline.streams.runs.judgement import local_seconds
from watchline.streams.runs.liveness import incident_of
from watchline.streams.runs.merge import begun_at, duration_of

CEILING = 86_400 * SECOND
KNOWN_RUNS = 30  # fewer teach no limit
P99 = 2.326  # of a normal
LEAST_SLACK = 60.0  # seconds beyond the expected end that nobody wants to be called for
MOST_SECONDS = 366 * 86_400.0


def learn_limit(scene: Scene, run: Run, baselines: Baselines) -> None:
    """Give a run that starts the limit that the runs before it have taught: the 99th percentile of their durations.

    Once: what later runs teach does not move it. Nothing is taught by fewer than 30 runs.
    """
    if scene.declared.timeliness_limit is not None or run.learned_limit is not None or run.started_at is None:
        return
    rule, baseline = rule_for("duration_seconds", scene.declared.rules), baselines.known("duration_seconds")
    if rule is None or baseline is None or baseline.runs < KNOWN_RUNS:
        return
    expected, high = quantile(baseline, rule, local_seconds(scene, run.started_at), P99)
    least = expected + max(LEAST_SLACK, rule.min_relative_change * expected)
    run.learned_limit = ceil(min(max(high, least), MOST_SECONDS) * SECOND)


def overdue_at(run: Run, limit: int | None) -> int | None:
    """When an open run passes its limit (`limit` is the declared one); None when it never will or did already."""
    if run.overdue or run.lost or run.backfill or run.started_at is None or run.end is not None:
        return None
    return run.started_at + _limit_of(run, limit)


def watch_open_runs(scene: Scene, row: RunsRow, at: int) -> list[Run]:
    """Mark the runs that are overdue at `at` and open their incidents; the runs that changed."""
    limit = scene.declared.timeliness_limit
    late = [run for run in row.open if (due := overdue_at(run, limit)) is not None and due <= at]
    for run in late:
        run.overdue = True
        run.untold = not scene.declared.watches("timeliness", at)
        if not run.untold:
            _open(scene, row, run, at)
    return late


def tell_overdue(scene: Scene, row: RunsRow, run: Run, at: int) -> None:
    """Open the incident of a run that became overdue while nobody was to hear of it."""
    run.untold = False
    _open(scene, row, run, at)


def postpone(scene: Scene, row: RunsRow, resumed_at: int) -> bool:
    """Give a run whose limit nobody declared all of that time again, if it passed where nobody could watch.

    That is before the pulse `resumed_at`, which ended the last gap: the run was read late, or is of long ago and read
    anew. Returns whether there was any.
    """
    if scene.declared.timeliness_limit is not None:
        return False
    missed = [run for run in row.open if (due := overdue_at(run, None)) is not None and due < resumed_at]
    for run in missed:
        run.learned_limit = resumed_at - (run.started_at or 0) + _limit_of(run, None)
    return bool(missed)


def watch_end(scene: Scene, row: RunsRow, run: Run) -> None:
    """Resolve the incident of a run that ended; a run whose whole life arrives late is caught here."""
    end, limit, duration = run.end, scene.declared.timeliness_limit, duration_of(run)
    if end is None:
        return
    incident = incident_of(row, run.run_id)
    if incident is None and not run.overdue and not run.backfill and limit and duration and duration > limit:
        run.overdue = True
        if scene.declared.watches("timeliness", end.ended_at):
            incident = _open(scene, row, run, end.ended_at)
    if incident:
        resolve_incident(scene, row, incident, at=end.ended_at, reason="recovered")


def is_pardoned(scene: Scene, row: RunsRow, run: Run, at: int) -> bool:
    """Whether a run is overdue by a limit that no longer holds: a new declaration gives it more time."""
    if (
        not run.overdue
        or run.started_at is None
        or find_incident(row, "timeliness", str(UUID(bytes=run.run_id))) is None
    ):
        return False
    return not run.lost and at < run.started_at + _limit_of(run, scene.declared.timeliness_limit)


def pardon(scene: Scene, row: RunsRow, at: int) -> None:
    """Resolve the incidents of runs that have more time now; they may become overdue again."""
    for run in row.open:
        if is_pardoned(scene, row, run, at) and (incident := incident_of(row, run.run_id)):
            run.overdue = False
            resolve_incident(scene, row, incident, at=at, reason="recovered")


def _limit_of(run: Run, declared: int | None) -> int:
    return declared or run.learned_limit or CEILING


def _open(scene: Scene, row: RunsRow, run: Run, at: int) -> OpenIncident:
    limit, begun, duration = _limit_of(run, scene.declared.timeliness_limit), begun_at(run), duration_of(run)
    begun = at if begun is None else begun
    took = at - begun if duration is None else duration
    return open_incident(
        scene, row, "timeliness", at=at, cause_at=begun + limit, severity="warn",
        title=_title_of(scene, run), subject=str(UUID(bytes=run.run_id)), run_id=run.run_id,
        facts=(IncidentFact(name="duration", value=took / SECOND, limit=limit / SECOND, unit="seconds"),),
    )  # fmt: skip


def _title_of(scene: Scene, run: Run) -> str:
    if scene.declared.timeliness_limit is not None:
        return "run takes longer than its limit"
    learned = run.learned_limit is not None and run.learned_limit < CEILING
    return "run takes longer than 99 of 100 runs before it" if learned else "run has been open for a day"
