"""Incidents that outlive their condition for a while: one that is gone and comes back is the same incident.

Whoever was told hears of it once, however often a value crosses its limit.
"""

from __future__ import annotations

from typing import Literal

from watchline.streams.pulses import is_ahead
from watchline.streams.rows import OpenIncident, RunsRow
from watchline.streams.runs.incidents import Scene, change_incident, rearm_incident, resolve_incident


def recover_incident(
    scene: Scene,
    row: RunsRow,
    incident: OpenIncident,
    *,
    at: int,
    reason: Literal["recovered", "adopted"] = "recovered",
) -> None:
    """The condition is gone since `at`: resolve the incident, or keep it open for as long as was declared."""
    if incident.cleared_at is not None:
        return
    if scene.declared.outlives(incident.kind):
        incident.cleared_at, incident.clear_reason = max(at, incident.opened_at), reason
    else:
        resolve_incident(scene, row, incident, at=at, reason=reason)


def relapse(scene: Scene, row: RunsRow, incident: OpenIncident, *, at: int) -> None:
    """The condition is there again before the incident has ended: it goes on, and nobody is told anew."""
    if incident.cleared_at is not None:
        rearm_incident(incident)
        change_incident(scene, row, incident, "updated", at=at)


def release_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When the first incident whose condition is gone will resolve, looked at after `at`."""
    return min((_end_of(scene, it, at) for it in row.incidents if it.cleared_at is not None), default=None)


def watch_cleared(scene: Scene, row: RunsRow, at: int) -> None:
    """Resolve the incidents whose condition has been gone for long enough at the pulse `at`, as of when it went."""
    for incident in list(row.incidents):
        if incident.cleared_at is not None and _end_of(scene, incident, at) <= at:
            resolve_incident(scene, row, incident, at=incident.cleared_at, reason=incident.clear_reason)


def _end_of(scene: Scene, incident: OpenIncident, at: int) -> int:
    """When it ends: at once if its condition went by a clock that ran ahead."""
    cleared_at = incident.cleared_at or 0
    return at if is_ahead(cleared_at, at) else cleared_at + scene.declared.outlives(incident.kind)
