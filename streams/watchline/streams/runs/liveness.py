"""Runs that promised heartbeats and fell silent, and runs that nobody will end any more.

Silence is measured on the clock of the log and not on that of the job, so a clock that runs behind loses no run.
"""

from __future__ import annotations

from uuid import UUID

from watchline.schemas.records import IncidentFact
from watchline.streams.instants import SECOND, to_words
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import OpenIncident, Run, RunsRow
from watchline.streams.runs.incidents import Scene, find_incident, open_incident, renew_incident, resolve_incident

MISSED_HEARTBEATS = 3
FORGOTTEN_AFTER = 30 * 86_400 * SECOND
FALSE_LOST = "false_lost"


def notice_sign(scene: Scene, row: RunsRow, run: Run, *, clock: int, again: bool) -> None:
    """Take a start or a heartbeat of an open run, read after the pulse `clock`, as a sign of life.

    When it begins the run `again`, as another attempt, the one before it was truly lost.
    """
    if clock:
        run.seen_at = max(run.seen_at or 0, clock + scene.patience)
    if run.lost and again:
        run.lost = False
        if incident := incident_of(row, run.run_id):
            resolve_incident(scene, row, incident, at=clock, reason="recovered")
    elif run.lost:
        _find_again(scene, row, run, at=clock)


def meet_runs(row: RunsRow, at: int, resumed_at: int) -> bool:
    """Count silence only from where it could be watched; whether that changed anything.

    From the pulse `at` for a run that was read before any pulse (an old one that is read anew has just been heard of),
    or by a clock ahead; from the pulse `resumed_at` that ended the last gap for one that would be lost in it.
    """
    unmet = [run for run in row.open if run.seen_at is None or is_seen_ahead(run, at)]
    for run in unmet:
        run.seen_at = at
    hidden = [run for run in row.open if (lost_at(run) or at + 1) <= at and (run.seen_at or 0) < resumed_at]
    for run in hidden:
        run.seen_at = resumed_at
    return bool(unmet or hidden)


def is_seen_ahead(run: Run, at: int) -> bool:
    """Whether a run was heard of by a clock that ran ahead of the pulse `at` and was put right."""
    return run.seen_at is not None and is_ahead(run.seen_at, at)


def notice_end(scene: Scene, row: RunsRow, run: Run) -> None:
    """A run that was given up for lost has ended after all."""
    if run.lost and run.end is not None:
        _find_again(scene, row, run, at=run.end.ended_at)


def lost_at(run: Run) -> int | None:
    """When three promised heartbeats in a row will have been missed; None when none were promised or it ended."""
    return None if run.end is not None or run.lost else _silent_at(run)


def forgotten_at(run: Run) -> int | None:
    """When an open run has been silent for so long that nobody waits for its end; None when it is not known."""
    heard = _heard_at(run)
    return None if heard is None else heard + FORGOTTEN_AFTER


def watch_silence(scene: Scene, row: RunsRow, at: int) -> list[Run]:
    """Mark the open runs that are lost at the pulse `at` and open their incidents; the runs that changed."""
    silent = [run for run in row.open if (due := lost_at(run)) is not None and due <= at]
    for run in silent:
        run.lost = True
        run.untold = not run.backfill and not scene.declared.watches("lost", at)
        if not run.backfill and not run.untold:
            tell_lost(scene, row, run, at)
    return silent


def incident_of(row: RunsRow, run_id: bytes) -> OpenIncident | None:
    """The open incident about one run, overdue or lost: there is never more than one."""
    subject = str(UUID(bytes=run_id))
    return find_incident(row, "lost", subject) or find_incident(row, "timeliness", subject)


def _silent_at(run: Run) -> int | None:
    heard = _heard_at(run)
    if heard is None or not run.heartbeat_seconds:
        return None
    return heard + int(MISSED_HEARTBEATS * run.heartbeat_seconds * SECOND)


def _heard_at(run: Run) -> int | None:
    if run.seen_at is not None:
        return run.seen_at
    reported = [at for at in (run.started_at, run.last_heartbeat_at) if at is not None]
    return max(reported, default=None)


def _find_again(scene: Scene, row: RunsRow, run: Run, *, at: int) -> None:
    run.lost = run.untold = False
    run.flags = sorted({*run.flags, FALSE_LOST})
    if incident := incident_of(row, run.run_id):
        resolve_incident(scene, row, incident, at=at, reason="arrived_late")


def tell_lost(scene: Scene, row: RunsRow, run: Run, at: int) -> None:
    """Open an incident; if the run is overdue already, that incident gets worse instead: one run, one incident."""
    run.untold = False
    title, facts = _title_of(run), (_fact_of(run, at),)
    if incident := incident_of(row, run.run_id):
        renew_incident(scene, row, incident, at=at, severity="fail", title=title, facts=facts, run_id=run.run_id)
    else:
        open_incident(
            scene, row, "lost", at=at, cause_at=_silent_at(run) or at, severity="fail", title=title, facts=facts,
            subject=str(UUID(bytes=run.run_id)), run_id=run.run_id,
        )  # fmt: skip


def _title_of(run: Run) -> str:
    return f"run is lost: no sign of life from {run.producer_host or 'its host'}"


def _fact_of(run: Run, at: int) -> IncidentFact:
    told = run.last_heartbeat_at or run.started_at
    return IncidentFact(
        name="silence",
        value=(at - (_heard_at(run) or at)) / SECOND,
        limit=MISSED_HEARTBEATS * (run.heartbeat_seconds or 0),
        unit="seconds",
        note=None if told is None else f"last heard of {to_words(told)}",
    )
