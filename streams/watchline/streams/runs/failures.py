"""Failed runs: one incident per pipeline, from the first bad outcome to the next good one. Runs may overlap.

A failed attempt that another one should follow is held back: it counts when no other comes.
"""

from __future__ import annotations

from typing import Literal

from watchline.schemas.events import RunError
from watchline.schemas.records import IncidentFact
from watchline.streams.instants import SECOND
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import HeldFailure, Run, RunsRow
from watchline.streams.runs.hysteresis import recover_incident
from watchline.streams.runs.incidents import Scene, Severity, find_incident, report_trouble, resolve_incident
from watchline.streams.runs.liveness import incident_of
from watchline.streams.runs.merge import begun_at
from watchline.streams.runs.promises import missed_facts

SEVERITIES: dict[str, Severity] = {"failed": "fail", "aborted": "warn"}
MOST_HELD = 16
BadStatus = Literal["failed", "aborted"]


def watch_outcome(scene: Scene, row: RunsRow, run: Run, error: RunError | None, *, now: int, clock: int) -> None:
    """Open, renew or resolve the failure incident by a run that has ended.

    The run that began last has the last word on whether all is well. One that began before it has failed all the same
    when it does so after that one's end; its success ends only what was said of itself.
    """
    end = run.end
    if end is None or end.status == "unknown" or not _counts(row, run, now):
        return
    waits, leads = is_held(scene, row, run, now=now), _leads(row, run, now)
    if leads:
        row.newest_outcome = _begun(run, now)
        row.newest_end = max(row.newest_end or 0, min(end.ended_at, now))
    done = [held for held in row.held if held.run_id == run.run_id]
    if end.status == "succeeded" and leads:
        done += [held for held in row.held if held.run_id != run.run_id and held.failed_at <= end.ended_at]
    for held in done:
        _let_go(scene, row, held, run, at=end.ended_at)
    if end.status == "succeeded":
        incident = find_incident(row, "failure")
        if incident is not None and (leads or incident.run_id == run.run_id):
            recover_incident(scene, row, incident, at=end.ended_at)
    elif waits:
        _hold(scene, row, run, end.status, _error_text(error), since=clock or min(end.ended_at, now))
    else:
        _report(scene, row, run.run_id, end.status, _error_text(error), at=end.ended_at)


def _begun(run: Run, now: int) -> int | None:
    """When a run began; ahead of `now` (a clock that runs ahead) counts as now, or it would outrank all others."""
    begun = begun_at(run)
    return None if begun is None else min(begun, now)


def _leads(row: RunsRow, run: Run, now: int) -> bool:
    """Whether a run began no earlier than any whose outcome counted."""
    begun = _begun(run, now)
    return begun is not None and begun >= (row.newest_outcome or 0)


def _counts(row: RunsRow, run: Run, now: int) -> bool:
    """Whether the outcome of a run counts: not of a backfill, nor a failure that later successes have followed."""
    if run.backfill or run.end is None or _begun(run, now) is None:
        return False
    if _leads(row, run, now) or run.end.status == "succeeded":
        return True
    return row.newest_end is not None and min(run.end.ended_at, now) > row.newest_end


def is_held(scene: Scene, row: RunsRow, run: Run, *, now: int) -> bool:
    """Whether the failed attempt that ended should be followed by another one, and is held back until then."""
    retries, end = scene.declared.retries, run.end
    if retries is None or retries.alert_each or end is None or end.status not in SEVERITIES:
        return False
    if not _counts(row, run, now):
        return False
    return (end.attempt or run.attempt or 1) <= retries.limit


def notice_attempt(scene: Scene, row: RunsRow, run: Run, attempt: int, *, clock: int) -> None:
    """Let go of the failure that this attempt follows: of the same run, or else of the attempt before it."""
    followed = [held for held in row.held if held.run_id == run.run_id] or [
        held for held in row.held if attempt > 1 and held.attempt == attempt - 1
    ]
    if followed:
        _let_go(scene, row, followed[0], run, at=clock)


def hold_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When the first failure that is held back will count, looked at after `at`."""
    return min((_due_of(scene, held, at) for held in row.held), default=None)


def _due_of(scene: Scene, held: HeldFailure, at: int) -> int:
    """When it counts: at once if that lies further ahead than anybody waits, as it was reckoned by a clock ahead."""
    longest = scene.declared.retries.wait_seconds if scene.declared.retries else 0.0
    return at if is_ahead(held.due - int(longest * SECOND), at) else held.due


def watch_held(scene: Scene, row: RunsRow, at: int) -> bool:
    """Report the failures that no other attempt has followed until the pulse `at`; whether there were any."""
    due = [held for held in row.held if _due_of(scene, held, at) <= at]
    for held in due:
        row.held.remove(held)
        _report(scene, row, held.run_id, held.status, f"{held.error} (no other attempt came)", at=at)
    return bool(due)


def _hold(scene: Scene, row: RunsRow, run: Run, status: BadStatus, error: str, *, since: int) -> None:
    assert run.end is not None
    assert scene.declared.retries is not None
    wait = int(scene.declared.retries.wait_seconds * SECOND)
    attempt = run.end.attempt or run.attempt or 1
    row.held.append(HeldFailure(run.run_id, attempt, since + wait, run.end.ended_at, status, error))
    for oldest in row.held[:-MOST_HELD]:  # no room to wait any longer for who follows it
        row.held.remove(oldest)
        _report(scene, row, oldest.run_id, oldest.status, oldest.error, at=run.end.ended_at)


def _let_go(scene: Scene, row: RunsRow, held: HeldFailure, follower: Run, *, at: int) -> None:
    """Forget a failure that another attempt followed; one that is a run of its own waits for nothing any more."""
    row.held.remove(held)
    if held.run_id != follower.run_id and (waiting := incident_of(row, held.run_id)):
        resolve_incident(scene, row, waiting, at=at, reason="recovered")


def _report(scene: Scene, row: RunsRow, run_id: bytes, status: BadStatus, error: str, *, at: int) -> None:
    """Open or renew the incident; the run of a failure that counts is over, so nobody waits for it any more."""
    if waiting := incident_of(row, run_id):
        resolve_incident(scene, row, waiting, at=at, reason="recovered")
    if scene.declared.watches("failure", at):
        fact = IncidentFact(name="error", value=error, unit="text")
        report_trouble(
            scene, row, "failure", at=at, severity=SEVERITIES[status], title=f"run {status}",
            facts=(fact, *missed_facts(find_incident(row, "failure"))), run_id=run_id,
        )  # fmt: skip


def _error_text(error: RunError | None) -> str:
    """The error in one short text: the row keeps it while the incident is open."""
    if error is None:
        return "no error text was sent"
    text = f"{error.type}: {error.message}" if error.type else error.message
    return text if len(text) <= 500 else text[:499] + "…"
