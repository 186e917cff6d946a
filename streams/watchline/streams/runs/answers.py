"""What people say about verdicts, and what the baselines learn from it: `feedback.given`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from watchline.schemas import FeedbackGiven
from watchline.schemas.printing import shorten
from watchline.streams.detection import Baseline, Verdict, accept_as_normal, confirm, forgive
from watchline.streams.instants import to_micros
from watchline.streams.rows import Flagged, RunsRow
from watchline.streams.runs.baselines import Baselines
from watchline.streams.runs.commands import MAX_NOTE, report
from watchline.streams.runs.incidents import Scene, find_incident, resolve_incident

KEPT_FLAGGED = 16
TEACHING: dict[str, Callable[[Baseline, bytes], None]] = {
    "false_positive": forgive, "expected": confirm, "new_normal": accept_as_normal,
}  # fmt: skip


def remember_flagged(row: RunsRow, run_id: bytes, flagged: Mapping[str, Verdict]) -> None:
    """Keep what an answer to these verdicts will need; the newest few are enough."""
    row.flagged += [Flagged(run_id, metric, verdict.token) for metric, verdict in flagged.items()]
    del row.flagged[:-KEPT_FLAGGED]


def take_answer(scene: Scene, row: RunsRow, answer: FeedbackGiven, baselines: Baselines, *, now: int) -> None:
    """Let the baselines learn from an answer, the first one only, and close the incident that it answers."""
    known = [one for one in row.flagged if one.run_id == answer.run_id.bytes]
    meant = [one for one in known if not answer.metrics or one.metric in answer.metrics]
    fresh = [one for one in meant if not one.answered]
    for one in fresh:
        one.answered = True
        baseline = baselines.known(one.metric)
        if baseline is not None and one.token:
            TEACHING[answer.verdict](baseline, one.token)
        one.token = b""
    if fresh and all(one.answered for one in known):
        _close(scene, row, answer, at=min(to_micros(answer.occurred_at), now))
    report(scene, row, answer, None if fresh else _why_not(known, meant))


def _close(scene: Scene, row: RunsRow, answer: FeedbackGiven, *, at: int) -> None:
    incident = find_incident(row, "anomaly")
    if incident is not None and incident.run_id == answer.run_id.bytes:
        reason: Literal["adopted", "manual"] = "adopted" if answer.verdict == "new_normal" else "manual"
        incident.note = None if answer.note is None else shorten(answer.note, MAX_NOTE)
        resolve_incident(scene, row, incident, at=at, reason=reason, by=answer.by)


def _why_not(known: list[Flagged], meant: list[Flagged]) -> str:
    if meant:
        return "it was answered before"
    return "these metrics of the run were not flagged" if known else "the run is none of the last that were flagged"
