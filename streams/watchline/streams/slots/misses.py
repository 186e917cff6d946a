"""The incident of a missed start: one per pipeline, from the first start missed to the next one that comes."""

from __future__ import annotations

from typing import Final, Literal

from watchline.schemas.records import IncidentFact, ResolveReason
from watchline.streams.instants import SECOND
from watchline.streams.rows import Expected, RunsRow, Slot
from watchline.streams.runs.incidents import Scene, find_incident, report_trouble, resolve_incident
from watchline.streams.slots.timetable import Timetable

KIND: Final[Literal["missed_start"]] = "missed_start"


def report_miss(scene: Scene, row: RunsRow, timetable: Timetable, slot: Slot, *, at: int) -> None:
    """Open the incident, or bring it up to date with the newest slot missed, at the pulse `at`.

    When a run came for a later slot already it is over as soon as it is known.
    """
    slots = row.expected.slots if row.expected else [slot]
    facts = [
        IncidentFact(name="due", value=timetable.full_name(slot.due), unit="text"),
        IncidentFact(name="grace", value=timetable.grace / SECOND, unit="seconds"),
    ]
    lately = sum(known.state == "missed" for known in slots)
    if lately > 1:
        facts.append(IncidentFact(name="starts missed lately", value=lately))
    incident = report_trouble(
        scene, row, KIND, at=at, cause_at=slot.due + timetable.grace, severity="fail",
        title=f"did not start, due {timetable.name(slot.due)}", facts=facts, run_id=None,
    )  # fmt: skip
    if any(known.run_id is not None and known.due > slot.due for known in slots):
        resolve_incident(scene, row, incident, at=at, reason="recovered")


def notice_start(scene: Scene, row: RunsRow, slot: Slot, *, before: str) -> None:
    """Resolve the incident when a run came for the newest slot missed, or for one after it."""
    incident = find_incident(row, KIND)
    if incident is None or row.expected is None:
        return
    if any(known.state == "missed" and known.due > slot.due for known in row.expected.slots):
        return
    reason: ResolveReason = "arrived_late" if before == "missed" else "recovered"
    incident.run_id = slot.run_id
    resolve_incident(scene, row, incident, at=slot.started_at or slot.due, reason=reason)


def take_back_miss(scene: Scene, row: RunsRow, expected: Expected, *, at: int) -> None:
    """Close what a clock ahead has opened, unless a slot that is really over is missing still."""
    incident = find_incident(row, KIND)
    if incident is None or any(slot.state == "missed" for slot in expected.slots):
        return
    if incident.cause_at > at:
        resolve_incident(scene, row, incident, at=at, reason="recovered")
