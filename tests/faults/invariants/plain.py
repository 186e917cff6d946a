"""The plain fold of what is in the log: in one process, in order, with no table but a dict, and no crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from aiokafka import TopicPartition

from faults.invariants.effects import Account, Letter, Origin
from faults.invariants.tails import Tail
from stack.oracle import Expected, RunRow, anomaly_row, incident_row, run_row, slot_row
from watchline.schemas import Topics
from watchline.schemas.records import ExpectedRunRecord, RunRecord, WatermarkRecord
from watchline.streams.effects import Effects
from watchline.streams.folders import DeclarationsFolder, RunsFolder, WatermarksFolder
from watchline.streams.instants import to_micros
from watchline.streams.intake import Homes, Intake, sort_out
from watchline.streams.rows import is_clock, partition_of
from watchline.streams.runs.desk import Rhythm, Tables
from watchline.streams.shell import Folder
from watchline.streams.transport import StateTable


@dataclass
class Memory:
    """A table that is a dict."""

    data: dict[bytes, bytes] = field(default_factory=dict)

    def rows(self) -> Iterable[tuple[int, bytes, bytes]]:
        return ((partition_of(row), key, row) for key, row in self.data.items())


class PlainFold:
    """Takes the records of the source topics and says what must come of them.

    `condense` makes what is kept of each run's row: `hash` for a log of millions, and on the other side too.
    All declarations must be taken first, as they must be known before the runs are judged.
    """

    def __init__(
        self,
        topics: Topics,
        rhythm: Rhythm,
        *,
        partitions: int,
        condense: Callable[[RunRow], Any] = lambda row: row,
    ) -> None:
        self.runs: dict[UUID, Any] = {}
        self.expected = Expected()  # its `runs` stay empty
        self.watermarks: dict[tuple[str, str], tuple[str, int]] = {}  # effective and regressions
        self.letters: dict[Origin, Letter] = {}
        self.accounts: dict[TopicPartition, Account] = {}
        self.events: dict[TopicPartition, list[tuple[int, bytes]]] = {}  # offset and pipeline, for `durable_frontier`
        self.tables = {name: Memory() for name in ("declarations", "runs", "watermarks")}
        self._epoch, self._condense, self.homes = rhythm.epoch, condense, Homes(partitions)
        self._folders = self._make_folders(topics, rhythm)

    def _make_folders(self, topics: Topics, rhythm: Rhythm) -> dict[str, tuple[Memory, Folder]]:
        declared, runs, marks = (self.tables[name] for name in ("declarations", "runs", "watermarks"))
        declarations = DeclarationsFolder(cast(StateTable, declared), epoch=rhythm.epoch, wake=lambda *_: None)
        watermarks = WatermarksFolder(cast(StateTable, marks), epoch=rhythm.epoch, wake=lambda *_: None)
        tables = Tables(runs.data.get, declarations.declared, self._keys, watermarks.complete_until)
        return {
            topics.pipelines: (declared, declarations),
            topics.runs: (runs, RunsFolder(tables, rhythm)),
            topics.watermarks: (marks, watermarks),
        }

    def partition_of(self, key: bytes) -> int:
        """Where the partitioner puts a pipeline."""
        return self.homes.of(key.decode())[1]

    def take(self, place: TopicPartition, records: Sequence[Any]) -> None:
        """Fold records of one partition, in their order."""
        table, folder = self._folders[place.topic]
        now = datetime.now(UTC)
        intake = sort_out(records, homes=self.homes, expects=folder.expects, now=now, epoch=self._epoch)
        rows, effects = folder.fold(intake, now=to_micros(now))
        for changed in rows.values():
            table.data |= changed
        folder.done()
        for said in effects.values():
            self._note(said)
        self._count(place, records, intake)

    def _keys(self, partition: int) -> list[bytes]:
        tables = (self.tables["runs"], self.tables["declarations"])
        known = dict.fromkeys(key for table in tables for home, key, _ in table.rows() if home == partition)
        return [key for key in known if not is_clock(key)]

    def _note(self, effects: Effects) -> None:
        for run in map(RunRecord.model_validate, effects.runs):
            self.runs[run.run_id] = self._condense(run_row(run))
        self.expected.anomalies |= {one.anomaly_id: anomaly_row(one) for one in effects.anomalies}
        self.expected.incidents |= {one.incident_id: incident_row(one) for one in effects.incidents}
        slots = [record for record in effects.state if isinstance(record, ExpectedRunRecord)]
        self.expected.slots |= {(slot.pipeline, slot.due_at): slot_row(slot) for slot in slots}
        for mark in effects.state:
            if isinstance(mark, WatermarkRecord):
                self.watermarks[mark.pipeline, mark.dataset] = (mark.effective, mark.regressions)

    def _count(self, place: TopicPartition, records: Sequence[Any], intake: Intake) -> None:
        taken = intake.taken.get(place.partition, [])
        events = [(one.offset, one.key) for one in taken if one.event is not None]
        self.events.setdefault(place, []).extend(events)
        was = self.accounts.get(place, Account(0, 0, 0, 0, 0))
        self.accounts[place] = Account(
            was.offsets + len(records),
            was.events + len(events),
            was.pulses + len(taken) - len(events),
            was.misplaced + len(intake.misplaced),
            was.dead + len(intake.dead),
        )
        by_offset = {record.offset: record for record in records} if intake.dead else {}
        for letter in intake.dead:
            dead = by_offset[letter.source_offset]
            origin = Origin(place.topic, place.partition, dead.offset)
            self.letters[origin] = Letter(letter.reason, dead.key, dead.value, tuple(dead.headers))


async def fold_log(bootstrap_servers: str, topics: Topics, fold: PlainFold) -> PlainFold:
    """Fold all that is in the source topics now: first what was declared, then the rest."""
    for names in ([topics.pipelines], [topics.runs, topics.watermarks]):
        async for place, records in Tail(bootstrap_servers, names).read():
            fold.take(place, records)
    return fold
