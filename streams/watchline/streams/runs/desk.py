"""One partition of the topic `runs`: its clock, its deadlines, and the fold of a batch of its records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from watchline.schemas.records import PulseRecord, revision_of
from watchline.streams.deadlines import Deadlines
from watchline.streams.declarations import Declared
from watchline.streams.effects import Effects
from watchline.streams.instants import SECOND, to_datetime
from watchline.streams.intake import Taken
from watchline.streams.pulses import MISSING_PULSES, PartitionClock
from watchline.streams.rows import Clock, RunsRow, clock_key, decode_row, encode_row
from watchline.streams.runs.fold import RunsEvent, RunsFold, next_deadline
from watchline.streams.runs.incidents import Scene


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often pulses come, and how long absence is not judged after a gap, in seconds; and the log's epoch."""

    pulse: float
    settle: float
    epoch: int


@dataclass(frozen=True, slots=True)
class Tables:
    """Read access to what is known: rows of runs by key, the declaration of a key, all keys of a partition.

    `watermark` is how far the data of a key is complete, if that is a time (microseconds).
    """

    row: Callable[[bytes], bytes | None]
    declared: Callable[[bytes], Declared]
    keys: Callable[[int], Iterable[bytes]]
    watermark: Callable[[bytes], int | None] = lambda _: None


@dataclass(slots=True)
class Desk:
    """What this worker keeps in memory of a partition; all of it can be rebuilt from the tables."""

    partition: int
    clock: PartitionClock = field(default_factory=PartitionClock)
    deadlines: Deadlines | None = None
    clock_read: bool = False

    def known_clock(self, read: Callable[[bytes], bytes | None]) -> PartitionClock:
        """The clock, as the table has it when this worker is new to the partition.

        A new worker goes on where the one before stood: what was due since the last pulse is in no gap unless it is.
        """
        raw = None if self.clock_read else read(clock_key(self.partition))
        if raw is not None and self.clock.last is None:
            row = decode_row(RunsRow, raw)
            if row.clock is not None:
                self.clock = PartitionClock(row.clock.last, row.clock.settled_at, row.clock.resumed_at, row.offset)
        self.clock_read = True
        return self.clock

    def clock_row(self) -> RunsRow:
        """The clock as the table keeps it."""
        clock = self.clock
        kept = Clock(clock.last, clock.settled_at, clock.resumed_at)
        return RunsRow(self.partition, clock.offset, clock=kept)

    def wake(self, key: bytes) -> None:
        """Look at `key` again at the next pulse: its declaration changed."""
        if self.deadlines is not None:
            self.deadlines.schedule(key, 0)

    def reset(self, clock: PartitionClock) -> None:
        """Go back to before a batch that could not be finished; the deadlines are rebuilt at the next pulse."""
        self.clock, self.deadlines, self.clock_read = clock, None, False


class BatchFold:
    """Folds the records of one partition in order; tables are only read, what is to be written or sent is collected.

    When it can't be written or sent, the desk must be reset and the batch folded again.
    """

    def __init__(self, desk: Desk, tables: Tables, rhythm: Rhythm) -> None:
        self.effects = Effects()
        self._desk, self._tables, self._rhythm = desk, tables, rhythm
        self._folds: dict[bytes, RunsFold] = {}
        self._moved: set[bytes] = set()  # keys whose deadline may have changed

    def take(self, records: Iterable[Taken], *, now: int) -> dict[bytes, bytes]:
        """Fold `records`, read at `now` (microseconds); the rows to write."""
        before = self._desk.known_clock(self._tables.row).offset
        for record in records:
            if record.pulse is not None:
                self._pulse(record.pulse, record.offset)
            elif isinstance(record.event, RunsEvent):
                self._desk.clock.events += 1
                clock = self._desk.clock.last or 0
                self._fold_of(record.key).absorb(record.event, offset=record.offset, now=now, clock=clock)
                self._moved.add(record.key)
        if self._desk.deadlines is not None:
            self._reschedule(self._desk.deadlines)
        rows = {key: encode_row(fold.close()) for key, fold in self._folds.items() if fold.changed}
        if self._desk.clock.offset != before:
            rows[clock_key(self._desk.partition)] = encode_row(self._desk.clock_row())
        return rows

    def _pulse(self, at: int, offset: int) -> None:
        desk, before = self._desk, self._desk.clock.last
        if desk.deadlines is not None:
            self._reschedule(desk.deadlines)  # from when their events were read: what fell due since then is due now
        settled = desk.clock.advance(at, offset=offset, interval=self._rhythm.pulse, settle=self._rhythm.settle)
        self._tell(offset)
        if before is not None and (desk.clock.last or 0) < before:
            desk.deadlines = None  # they were reckoned from a time that was wrong
        if not settled:
            return
        if desk.deadlines is None:
            desk.deadlines = Deadlines(self._known(at))
            self._moved.update(self._folds)  # newer than their rows
        self._reschedule(desk.deadlines)
        for key in desk.deadlines.pop_due(at):
            self._fold_of(key).watch(at, offset=offset, resumed_at=desk.clock.resumed_at)
            self._moved.add(key)

    def _tell(self, offset: int) -> None:
        clock = self._desk.clock
        if (events := clock.tell()) is not None and clock.last is not None:
            self.effects.state.append(
                PulseRecord(
                    revision=revision_of(self._rhythm.epoch, offset), partition=self._desk.partition,
                    at=to_datetime(clock.last), events=events,
                )
            )  # fmt: skip

    def _reschedule(self, deadlines: Deadlines) -> None:
        for key in self._moved:
            fold = self._folds[key]
            deadlines.schedule(key, next_deadline(fold.scene, fold.row, self._desk.clock.last or 0))
        self._moved.clear()

    def _fold_of(self, key: bytes) -> RunsFold:
        fold = self._folds.get(key)
        if fold is None:
            fold = self._folds[key] = RunsFold(self._scene_of(key), self._row_of(key))
        return fold

    def _scene_of(self, key: bytes) -> Scene:
        patience = int(MISSING_PULSES * self._rhythm.pulse * SECOND)
        declared = self._tables.declared(key)
        watermark_at = self._tables.watermark(key) if declared.limits_lag else None
        return Scene(key.decode(), declared, self._rhythm.epoch, self.effects, watermark_at, patience)

    def _row_of(self, key: bytes) -> RunsRow:
        raw = self._tables.row(key)
        return RunsRow(self._desk.partition) if raw is None else decode_row(RunsRow, raw)

    def _known(self, at: int) -> Iterator[tuple[bytes, int]]:
        for key in self._tables.keys(self._desk.partition):
            due = next_deadline(self._scene_of(key), self._row_of(key), at)
            if due is not None:
                yield key, due
