"""Failed runs: one incident per pipeline, from the first bad outcome to the next good one."""

from __future__ import annotations

from watchline.schemas.events import RunError
from watchline.schemas.records import IncidentFact
from watchline.streams.rows import Run, RunsRow
from watchline.streams.runs.incidents import Scene, Severity, find_incident, report_trouble, resolve_incident
from watchline.streams.runs.merge import begun_at

SEVERITIES: dict[str, Severity] = {"failed": "fail", "aborted": "warn"}


def watch_outcome(scene: Scene, row: RunsRow, run: Run, error: RunError | None, *, now: int) -> None:
    """Open, renew or resolve the failure incident; a run older than the newest judged one changes nothing.

    A run that began ahead of `now` (a clock that runs ahead) counts as begun now, or it would outrank all others.
    """
    end, begun = run.end, begun_at(run)
    if end is None or begun is None or run.backfill or end.status == "unknown":
        return
    begun = min(begun, now)
    if row.newest_outcome is not None and begun < row.newest_outcome:
        return
    row.newest_outcome = begun
    if end.status == "succeeded":
        if incident := find_incident(row, "failure"):
            resolve_incident(scene, row, incident, at=end.ended_at, reason="recovered")
    elif scene.declared.watches("failure", end.ended_at):
        fact = IncidentFact(name="error", value=_error_text(error), unit="text")
        report_trouble(
            scene, row, "failure", at=end.ended_at, severity=SEVERITIES[end.status], title=f"run {end.status}",
            facts=(fact,), run_id=run.run_id,
        )  # fmt: skip


def _error_text(error: RunError | None) -> str:
    """The error in one short text: the row keeps it while the incident is open."""
    if error is None:
        return "no error text was sent"
    text = f"{error.type}: {error.message}" if error.type else error.message
    return text if len(text) <= 500 else text[:499] + "…"
