"""Runs that are overdue or lost, and deadlines missed, while a mute or a pause hides that: told once it is over."""

from __future__ import annotations

from uuid import UUID

from watchline.schemas.records import IncidentKind
from watchline.streams.rows import OpenIncident, Run, RunsRow
from watchline.streams.runs.incidents import Scene
from watchline.streams.runs.liveness import tell_lost
from watchline.streams.runs.punctuality import hide_deadline
from watchline.streams.runs.timeliness import tell_overdue


def hide(row: RunsRow, incident: OpenIncident) -> None:
    """Remember that an incident was ended by a mute or a pause, and not by what became of its run or its deadline."""
    hide_deadline(row, incident)
    for run in row.open:
        if incident.kind in ("timeliness", "lost") and incident.subject == str(UUID(bytes=run.run_id)):
            run.untold = run.overdue or run.lost


def tell_hidden(scene: Scene, row: RunsRow, at: int) -> None:
    """Open the incidents of open runs that people may hear of at the pulse `at` and did not hear of yet."""
    for run in row.open:
        if run.untold and scene.declared.watches(_kind_of(run), at):
            (tell_lost if run.lost else tell_overdue)(scene, row, run, at)


def unhidden_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When `tell_hidden` may have something to tell, after `at`."""
    if not scene.declared.active:
        return None
    ends = (scene.declared.unmuted_at(_kind_of(run), at) for run in row.open if run.untold)
    return min((end for end in ends if end is not None), default=None)


def _kind_of(run: Run) -> IncidentKind:
    return "lost" if run.lost else "timeliness"
