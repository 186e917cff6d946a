"""How old the data is: the age of the last insert, update or delete against the limit of the pipeline or its type."""

from __future__ import annotations

from watchline.schemas.records import IncidentFact
from watchline.streams.instants import SECOND, to_datetime
from watchline.streams.rows import Run, RunsRow
from watchline.streams.runs.incidents import Scene, find_incident, open_incident, resolve_incident


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
    return True


def age_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When `watch_age` may decide something new, after `at`: the data turns stale, or is fresh again.

    A pipeline that never changed anything is counted from its first declaration.
    """
    limit = scene.declared.freshness_limit
    if limit is None:
        return None
    until = _fresh_until(scene, row, limit)
    if find_incident(row, "freshness"):
        return at if at < until else None
    if until > at:
        return until
    return scene.declared.unmuted_at("freshness", at) if scene.declared.active else None  # a mute hides it


def watch_age(scene: Scene, row: RunsRow, at: int) -> None:
    """Open the freshness incident once the data is older than its limit at the pulse `at`, else resolve it."""
    limit = scene.declared.freshness_limit
    incident = find_incident(row, "freshness")
    if limit is None or at < _fresh_until(scene, row, limit):
        if incident:
            resolve_incident(scene, row, incident, at=at, reason="recovered")
    elif incident is None and scene.declared.watches("freshness", at):
        _open(scene, row, at, limit)


def notice_change(scene: Scene, row: RunsRow, clock: int) -> None:
    """Resolve the freshness incident as of the last change, if that is fresh at the pulse `clock`.

    An event never opens one, only a pulse does. `clock` is 0 until a worker has read a pulse; but it is never less than
    the pulse that opened the incident, so a worker that has just started decides as one that never stopped.
    """
    limit, changed_at = scene.declared.freshness_limit, row.last_change_at
    incident = find_incident(row, "freshness")
    if incident is None or changed_at is None:
        return
    if limit is None or max(clock, incident.opened_at) < _fresh_until(scene, row, limit):
        resolve_incident(scene, row, incident, at=changed_at, reason="recovered")


def _fresh_until(scene: Scene, row: RunsRow, limit: int) -> int:
    counted_from = scene.declared.first_declared_at if row.last_change_at is None else row.last_change_at
    return (counted_from or 0) + limit


def _open(scene: Scene, row: RunsRow, at: int, limit: int) -> None:
    changed = row.last_change_at
    fact = IncidentFact(
        name="age",
        value=(at - _fresh_until(scene, row, limit) + limit) / SECOND,
        limit=limit / SECOND,
        unit="seconds",
        note=f"last change {to_datetime(changed).isoformat()}" if changed is not None else "nothing was ever loaded",
    )
    open_incident(
        scene, row, "freshness", at=at, cause_at=_fresh_until(scene, row, limit), severity="fail",
        title="data is stale", facts=(fact,),
    )  # fmt: skip
