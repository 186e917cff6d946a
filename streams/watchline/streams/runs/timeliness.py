"""Runs that take longer than their limit, seen while they are still running."""

from __future__ import annotations

from uuid import UUID

from watchline.schemas.records import IncidentFact
from watchline.streams.instants import SECOND
from watchline.streams.rows import OpenIncident, Run, RunsRow
from watchline.streams.runs.incidents import Scene, find_incident, open_incident, resolve_incident
from watchline.streams.runs.merge import begun_at, duration_of


def overdue_at(run: Run, limit: int | None) -> int | None:
    """When an open run passes its limit; None when it has none, or is already overdue."""
    if limit is None or run.overdue or run.backfill or run.started_at is None or run.end is not None:
        return None
    return run.started_at + limit


def watch_open_runs(scene: Scene, row: RunsRow, at: int) -> list[Run]:
    """Mark the runs that are overdue at `at` and open their incidents; the runs that changed."""
    limit = scene.declared.timeliness_limit
    late = [run for run in row.open if (due := overdue_at(run, limit)) is not None and due <= at]
    for run in late:
        run.overdue = True
        if scene.declared.watches("timeliness", at):
            _open(scene, row, run, at)
    return late


def watch_end(scene: Scene, row: RunsRow, run: Run) -> None:
    """Resolve the incident of a run that ended; a run whose whole life arrives late is caught here."""
    end, limit, duration = run.end, scene.declared.timeliness_limit, duration_of(run)
    if end is None:
        return
    incident = find_incident(row, "timeliness", str(UUID(bytes=run.run_id)))
    if incident is None and not run.overdue and not run.backfill and limit and duration and duration > limit:
        run.overdue = True
        if scene.declared.watches("timeliness", end.ended_at):
            incident = _open(scene, row, run, end.ended_at)
    if incident:
        resolve_incident(scene, row, incident, at=end.ended_at, reason="recovered")


def _open(scene: Scene, row: RunsRow, run: Run, at: int) -> OpenIncident:
    limit, begun, duration = scene.declared.timeliness_limit or 0, begun_at(run), duration_of(run)
    begun = at if begun is None else begun
    took = at - begun if duration is None else duration
    return open_incident(
        scene, row, "timeliness", at=at, cause_at=begun + limit, severity="warn",
        title="run takes longer than its limit", subject=str(UUID(bytes=run.run_id)), run_id=run.run_id,
        facts=(IncidentFact(name="duration", value=took / SECOND, limit=limit / SECOND, unit="seconds"),),
    )  # fmt: skip
