"""One partition of `runs` with its table, driven record by record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, UUID, uuid5

from watchline.schemas import FeedbackGiven, RunEnded, RunHeartbeat, RunStarted
from watchline.schemas.events import Command, IncidentCommand
from watchline.schemas.records import (
    AnomalyRecord,
    CommandRecord,
    ExpectedRunRecord,
    IncidentRecord,
    PulseRecord,
    RunRecord,
)
from watchline.streams.declarations import UNDECLARED, Declared
from watchline.streams.instants import to_micros
from watchline.streams.intake import Taken
from watchline.streams.rows import RunsRow, decode_row
from watchline.streams.runs.desk import BatchFold, Desk, Rhythm, Tables
from watchline.streams.runs.fold import RunsEvent

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
PIPELINE = "orders_daily"
KEY = PIPELINE.encode()


def identity(*words: object) -> UUID:
    """The same id for the same words."""
    return uuid5(NAMESPACE_URL, " ".join(map(str, words)))


def started(run: object, at: datetime = NOON, **fields: Any) -> RunStarted:
    return RunStarted(
        event_id=identity("start", run, at), occurred_at=at, pipeline=PIPELINE, run_id=identity(run), **fields
    )


def heartbeat(run: object, at: datetime) -> RunHeartbeat:
    return RunHeartbeat(event_id=identity("beat", run, at), occurred_at=at, pipeline=PIPELINE, run_id=identity(run))


def ended(run: object, at: datetime = NOON, status: str = "succeeded", **fields: Any) -> RunEnded:
    return RunEnded.model_validate(
        {
            "event_id": identity("end", run, at, status),
            "occurred_at": at,
            "pipeline": PIPELINE,
            "run_id": identity(run),
            "status": status,
            **fields,
        }
    )


C = TypeVar("C", bound=Command)


def commanded(kind: type[C], at: datetime = NOON, **fields: Any) -> C:
    """A command of ada's."""
    made = {"by": "ada@etl-1", "event_id": identity(kind.__name__, at, sorted(fields.items(), key=str))} | fields
    return kind(occurred_at=at, pipeline=PIPELINE, **made)


def answered(run: object, verdict: str, at: datetime = NOON, **fields: Any) -> FeedbackGiven:
    return FeedbackGiven.model_validate(
        {
            "event_id": identity("answer", run, verdict, at), "occurred_at": at, "pipeline": PIPELINE,
            "run_id": identity(run), "verdict": verdict, "by": "ada@etl-1", **fields,
        }
    )  # fmt: skip


@dataclass
class Log:
    """Appends records to a partition and folds them; what was decided piles up in its lists."""

    declared: Declared = UNDECLARED
    rhythm: Rhythm = field(default_factory=lambda: Rhythm(pulse=5, settle=0, epoch=0))
    rows: dict[bytes, bytes] = field(default_factory=dict)
    desk: Desk = field(default_factory=lambda: Desk(0))
    offset: int = -1
    runs: list[RunRecord] = field(default_factory=list)
    anomalies: list[AnomalyRecord] = field(default_factory=list)
    incidents: list[IncidentRecord] = field(default_factory=list)
    pulses: list[PulseRecord] = field(default_factory=list)
    watermark_at: int | None = None
    slots: dict[datetime, ExpectedRunRecord] = field(default_factory=dict)  # as the sink has them
    commands: list[CommandRecord] = field(default_factory=list)

    def append(self, *events: RunsEvent, now: datetime | None = None) -> None:
        """Fold `events` as one batch."""
        self.take([self.record(event) for event in events], now=now)

    def pulse(self, at: datetime) -> None:
        """Fold a pulse."""
        self.take([self.record(at)])

    def take(self, records: Iterable[Taken], now: datetime | None = None) -> None:
        """Fold records whatever their offsets, as after a crash."""
        tables = Tables(
            row=self.rows.get,
            declared=lambda _: self.declared,
            keys=lambda _: [KEY],
            watermark=lambda _: self.watermark_at,
        )
        batch = BatchFold(self.desk, tables, self.rhythm)
        self.rows |= batch.take(records, now=to_micros(now or NOON))
        self.runs += [RunRecord.model_validate(fields) for fields in batch.effects.runs]
        self.anomalies += batch.effects.anomalies
        self.incidents += batch.effects.incidents
        self.pulses += [record for record in batch.effects.state if isinstance(record, PulseRecord)]
        self.commands += [record for record in batch.effects.state if isinstance(record, CommandRecord)]
        for record in batch.effects.state:
            if not isinstance(record, ExpectedRunRecord):
                continue
            held = self.slots.get(record.due_at)
            if held is None or record.revision > held.revision:
                self.slots[record.due_at] = record

    def history(self, count: int, *, until: datetime = NOON, **fields: Any) -> None:
        """`count` hourly succeeded runs that end before `until`."""
        for n in range(count):
            at = until - timedelta(hours=count - n)
            self.append(ended(f"past-{n}", at, duration_ms=60_000, **fields))

    @property
    def row(self) -> RunsRow:
        return decode_row(RunsRow, self.rows[KEY])

    def transitions(self, kind: str) -> list[str]:
        """What happened to incidents of `kind`, in order."""
        return [it.transition for it in self.incidents if it.kind == kind]

    def newest(self, run: object) -> RunRecord:
        """The newest record of a run."""
        return [record for record in self.runs if record.run_id == identity(run)][-1]

    def record(self, step: RunsEvent | datetime) -> Taken:
        """The next record of the partition: an event, or a pulse at a time."""
        self.offset += 1
        step = self.aimed(step)
        if isinstance(step, datetime):
            return Taken(self.offset, b"", None, to_micros(step))
        return Taken(self.offset, KEY, step)

    def aimed(self, step: RunsEvent | datetime) -> RunsEvent | datetime:
        """A command about the n-th incident, as one about that incident; any other step as it is."""
        if isinstance(step, IncidentCommand) and step.incident_id.int < 1000 and self.incidents:
            chosen = self.incidents[step.incident_id.int % len(self.incidents)]
            return step.model_copy(update={"incident_id": chosen.incident_id})
        return step
