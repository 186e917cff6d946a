"""What must come out: a plain fold of the same events in one process, with no broker, no table and no crash."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from watchline.schemas import Event, PipelineDeclared
from watchline.schemas.records import AnomalyRecord, ExpectedRunRecord, IncidentRecord, RunRecord
from watchline.streams.declarations import UNDECLARED, Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.intake import Taken
from watchline.streams.rows import DeclarationRow
from watchline.streams.runs.desk import BatchFold, Desk, Rhythm, Tables
from watchline.streams.runs.fold import RunsEvent

RunRow = tuple[UUID, str, datetime | None, datetime | None, float | None, int | None, bool]
AnomalyRow = tuple[UUID, str, float, float, int]
IncidentRow = tuple[str, str, str, datetime, datetime | None]
SlotRow = tuple[str, datetime, str, UUID | None, datetime | None]


EAGER = Rhythm(pulse=1, settle=0, epoch=0)


@dataclass
class Expected:
    """Rows as they must stand in Postgres, in the order of their ids."""

    runs: dict[UUID, RunRow] = field(default_factory=dict)
    anomalies: dict[UUID, AnomalyRow] = field(default_factory=dict)
    incidents: dict[UUID, IncidentRow] = field(default_factory=dict)
    slots: dict[tuple[str, datetime], SlotRow] = field(default_factory=dict)


def expect(story: Iterable[Event | datetime], *, now: datetime, rhythm: Rhythm = EAGER) -> Expected:
    """The rows that come of `story`, in which a datetime is a pulse."""
    expected = Expected()
    for effects in judge(story, now=now, rhythm=rhythm):
        note(expected, effects)
    return expected


def judge(
    story: Iterable[Event | datetime],
    *,
    now: datetime,
    rhythm: Rhythm = EAGER,
    rows: dict[bytes, bytes] | None = None,
) -> Iterator[Effects]:
    """Fold a story in its order, as one worker would that never stops; what it says of each event and pulse.

    `rows` is the table of the runs, by pipeline; give an empty one to see what it holds in the end.
    """
    declared: dict[bytes, Declared] = {}
    rows = {} if rows is None else rows
    desk = Desk(0)
    tables = Tables(row=rows.get, declared=lambda key: declared.get(key, UNDECLARED), keys=lambda _: list(declared))
    for offset, step in enumerate(story):
        if isinstance(step, PipelineDeclared):
            row = DeclarationRow(0, offset)
            fold_declaration(row, step, epoch=0, effects=Effects())
            declared[step.pipeline.encode()] = read_declaration(row)
            desk.wake(step.pipeline.encode())
        elif isinstance(step, RunsEvent | datetime):
            batch = BatchFold(desk, tables, rhythm)
            rows |= batch.take([taken(offset, step)], now=to_micros(now))
            yield batch.effects


def taken(offset: int, step: RunsEvent | datetime) -> Taken:
    if isinstance(step, datetime):
        return Taken(offset, b"", None, to_micros(step))
    return Taken(offset, step.pipeline.encode(), step)


def note(expected: Expected, effects: Effects) -> None:
    for run in map(RunRecord.model_validate, effects.runs):
        expected.runs[run.run_id] = run_row(run)
    expected.anomalies |= {a.anomaly_id: anomaly_row(a) for a in effects.anomalies}
    expected.incidents |= {i.incident_id: incident_row(i) for i in effects.incidents}
    slots = [record for record in effects.state if isinstance(record, ExpectedRunRecord)]
    expected.slots |= {(slot.pipeline, slot.due_at): slot_row(slot) for slot in slots}


def run_row(run: RunRecord) -> RunRow:
    return (
        run.run_id, run.status, run.started_at, run.ended_at, run.duration_seconds, run.total_rows, run.anomalous
    )  # fmt: skip


def anomaly_row(anomaly: AnomalyRecord) -> AnomalyRow:
    return (anomaly.run_id, anomaly.metric, anomaly.value, anomaly.score, anomaly.baseline_runs)


def incident_row(incident: IncidentRecord) -> IncidentRow:
    state = "resolved" if incident.transition == "resolved" else "open"
    return (incident.pipeline, incident.kind, state, incident.opened_at, incident.resolved_at)


def slot_row(slot: ExpectedRunRecord) -> SlotRow:
    return (slot.pipeline, slot.due_at, slot.state, slot.run_id, slot.started_at)
