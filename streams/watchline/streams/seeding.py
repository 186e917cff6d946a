"""A row of the table `runs` made anew from what is known of a pipeline where its log no longer reaches back.

The runs go through the same fold as ever. What that would say is thrown away: the sink has it, and people were told.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from uuid import UUID

from watchline.schemas import IncidentFact
from watchline.schemas.records import IncidentRecord
from watchline.streams.declarations import Declared
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.rows import OpenIncident, RunsRow
from watchline.streams.runs.fold import RunsEvent, RunsFold
from watchline.streams.runs.incidents import Scene, find_incident, pack_facts
from watchline.streams.runs.liveness import forgotten_at
from watchline.streams.runs.promises import begin_promise
from watchline.streams.runs.punctuality import SUBJECT

FOLDED = 500  # events between two looks at the effects, so that they do not pile up


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the log of a partition begins: its first offset, and the time of its clock there (microseconds)."""

    partition: int
    offset: int
    at: int


@dataclass(frozen=True, slots=True)
class Standing:
    """What a pipeline's runs do not tell of how it stood at the cut."""

    incidents: tuple[IncidentRecord, ...] = ()  # the last transition of each that was open
    overdue: Set[UUID] = field(default_factory=frozenset)  # open runs that people know of
    lost: Set[UUID] = field(default_factory=frozenset)
    closed_by_hand_at: int | None = None  # when somebody closed its newest freshness incident (microseconds)


class Seed:
    """Folds the past of one pipeline; `row_at` gives the row with which a worker goes on from the cut.

    Events must come in the order in which they were read once; `now` is the wall clock (microseconds).
    """

    def __init__(self, pipeline: str, declared: Declared, *, now: int) -> None:
        self._scene = Scene(pipeline, declared, 0, Effects())
        self._now, self._row = now, RunsRow(0)
        self._fold, self._taken = RunsFold(self._scene, self._row), 0

    def take(self, events: Iterable[RunsEvent]) -> None:
        """Fold `events`."""
        for event in events:
            self._fold.absorb(event, offset=self._taken, now=self._now, clock=0)
            self._taken += 1
            if self._taken % FOLDED == 0:
                self._turn()

    def row_at(self, cut: Cut, standing: Standing) -> RunsRow:
        """The row that has absorbed all before the cut; expected starts and deadlines count from there."""
        self._turn()
        row = self._row
        row.partition, row.offset = cut.partition, cut.offset - 1
        row.incidents = [carry(record, row) for record in standing.incidents]
        row.held = [held for held in row.held if held.due > cut.at]  # of the others people were told
        row.open = [run for run in row.open if (forgotten_at(run) or 0) > cut.at]
        for run in row.open:
            identity = UUID(bytes=run.run_id)
            run.overdue, run.lost = identity in standing.overdue, identity in standing.lost
        closed = standing.closed_by_hand_at
        row.quiet = ["freshness"] if closed is not None and closed > (row.last_change_at or 0) else []
        self._keep_promises(row, cut.at)
        return row

    def _turn(self) -> None:
        """Begin another batch."""
        self._row = self._fold.close()
        self._scene = Scene(self._scene.pipeline, self._scene.declared, 0, Effects())
        self._fold = RunsFold(self._scene, self._row)

    def _keep_promises(self, row: RunsRow, at: int) -> None:
        """Wait on for what an open incident says was missed; any other promise begins with the first pulse."""
        declared = self._scene.declared
        deadline, stale = find_incident(row, "timeliness", SUBJECT), find_incident(row, "freshness")
        if deadline is not None and declared.done_by is not None:
            row.done_by = begin_promise(declared.done_by, at)
            row.done_by.missed, row.done_by.warned = deadline.severity == "fail", True
        if stale is not None and declared.complete_by is not None:
            row.complete_by = begin_promise(declared.complete_by, at)
            row.complete_by.missed = b'"due"' in stale.facts


def carry(record: IncidentRecord, row: RunsRow) -> OpenIncident:
    """An incident as it was told last; how far its end has come is what the fold of the runs makes of it."""
    facts = [fact for fact in record.facts if fact.name != "flapping"]
    incident = OpenIncident(
        record.kind, record.subject, record.incident_id.bytes, to_micros(record.opened_at),
        to_micros(record.cause_at), record.severity, record.title, pack_facts(facts), record.transition_no,
        run_id=record.run_id.bytes if record.run_id else None, acknowledged_by=record.acknowledged_by,
        acknowledged_at=to_micros(record.acknowledged_at) if record.acknowledged_at else None,
        snoozed_until=to_micros(record.snoozed_until) if record.snoozed_until else None,
        note=record.note, flaps=_flaps_of(record.facts),
    )  # fmt: skip
    if folded := find_incident(row, record.kind, record.subject):
        incident.clean_runs, incident.adopted = folded.clean_runs, folded.adopted
        incident.cleared_at, incident.clear_reason = folded.cleared_at, folded.clear_reason
        incident.flaps = max(incident.flaps, folded.flaps)
    return incident


def _flaps_of(facts: Iterable[IncidentFact]) -> int:
    return next((int(fact.value) for fact in facts if fact.name == "flapping" and isinstance(fact.value, float)), 0)
