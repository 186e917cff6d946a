"""The three folds, one a topic, each with the table it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from typing import TypeVar, get_args

from watchline.schemas import (
    PipelineDeclared,
    WatermarkAdvanced,
)
from watchline.streams.declarations import UNDECLARED, Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.intake import Intake
from watchline.streams.pulses import PartitionClock
from watchline.streams.rows import DeclarationRow, Row, WatermarksRow, decode_row, encode_row, is_clock
from watchline.streams.runs.desk import BatchFold, Desk, Rhythm, Tables
from watchline.streams.runs.fold import RunsEvent
from watchline.streams.shell import Folded
from watchline.streams.transport import StateTable
from watchline.streams.watermarks import complete_until, fold_watermark

E = TypeVar("E", PipelineDeclared, WatermarkAdvanced)


class RunsFolder:
    """Folds the topic `runs`; a desk a partition is all it keeps in memory."""

    expects = get_args(RunsEvent)

    def __init__(self, tables: Tables, rhythm: Rhythm) -> None:
        self._tables, self._rhythm = tables, rhythm
        self._desks: dict[int, Desk] = {}
        self._clocks: dict[int, PartitionClock] = {}  # as they were before the batch

    def fold(self, intake: Intake, *, now: int) -> Folded:
        rows: dict[int, dict[bytes, bytes]] = {}
        effects: dict[int, Effects] = {}
        self._clocks = {}
        for partition, taken in intake.taken.items():
            desk = self._desks.setdefault(partition, Desk(partition))
            self._clocks[partition] = copy(desk.clock)
            batch = BatchFold(desk, self._tables, self._rhythm)
            rows[partition] = batch.take(taken, now=now)
            effects[partition] = batch.effects
        return rows, effects

    def undo(self) -> None:
        for partition, clock in self._clocks.items():
            if partition in self._desks:  # a rebalance may have taken it meanwhile
                self._desks[partition].reset(clock)

    def done(self) -> None:
        self._clocks = {}

    def wake(self, partition: int, key: bytes) -> None:
        """Look at a pipeline at the next pulse: its declaration changed."""
        if partition in self._desks:
            self._desks[partition].wake(key)

    def keep(self, partitions: frozenset[int]) -> None:
        """Forget partitions that are no longer ours, and rebuild the deadlines of the others from their rows."""
        self._desks = {number: desk for number, desk in self._desks.items() if number in partitions}
        for desk in self._desks.values():
            desk.deadlines = None


class DeclarationsFolder:
    """Folds the topic `pipelines` and serves the limits in force to the other folds of the worker."""

    expects = (PipelineDeclared,)

    def __init__(self, table: StateTable, *, epoch: int, wake: Callable[[int, bytes], None]) -> None:
        self._table, self._epoch, self._wake = table, epoch, wake
        self._read: dict[bytes, tuple[bytes, Declared]] = {}
        self._folded: dict[int, dict[bytes, bytes]] = {}

    def fold(self, intake: Intake, *, now: int) -> Folded:  # noqa: ARG002 - the time of a declaration is its own
        def fold(row: DeclarationRow, event: PipelineDeclared, effects: Effects) -> None:
            fold_declaration(row, event, epoch=self._epoch, effects=effects)

        self._folded, effects = _fold_rows(self._table, intake, DeclarationRow, PipelineDeclared, fold)
        return self._folded, effects

    def undo(self) -> None:
        """Nothing is kept in memory that a batch changes."""

    def done(self) -> None:
        """Wake pipelines only now: whoever looks earlier still finds the old declaration."""
        _wake_all(self._wake, self._folded)

    def declared(self, key: bytes) -> Declared:
        """What `key` has declared, the defaults if nothing; read once for each row."""
        raw = self._table.data.get(key)
        if raw is None:
            return UNDECLARED
        known = self._read.get(key)
        if known is None or known[0] is not raw:
            known = self._read[key] = (raw, read_declaration(decode_row(DeclarationRow, raw)))
        return known[1]

    def keep(self, keys: frozenset[bytes]) -> None:
        """Forget what was read of pipelines that are no longer ours."""
        self._read = {key: read for key, read in self._read.items() if key in keys}


class WatermarksFolder:
    """Folds the topic `watermarks`."""

    expects = (WatermarkAdvanced,)

    def __init__(self, table: StateTable, *, epoch: int, wake: Callable[[int, bytes], None]) -> None:
        self._table, self._epoch, self._wake = table, epoch, wake
        self._folded: dict[int, dict[bytes, bytes]] = {}

    def fold(self, intake: Intake, *, now: int) -> Folded:
        def fold(row: WatermarksRow, event: WatermarkAdvanced, effects: Effects) -> None:
            fold_watermark(row, event, now=now, epoch=self._epoch, effects=effects)

        self._folded, effects = _fold_rows(self._table, intake, WatermarksRow, WatermarkAdvanced, fold)
        return self._folded, effects

    def undo(self) -> None:
        """Nothing is kept in memory that a batch changes."""

    def done(self) -> None:
        """Wake pipelines only now: whoever looks earlier still finds the old watermark."""
        _wake_all(self._wake, self._folded)

    def complete_until(self, key: bytes) -> int | None:
        """How far the data of `key` is complete (microseconds), if that is a time."""
        raw = self._table.data.get(key)
        return None if raw is None else complete_until(decode_row(WatermarksRow, raw))


def _wake_all(wake: Callable[[int, bytes], None], folded: Mapping[int, Mapping[bytes, bytes]]) -> None:
    for partition, rows in folded.items():
        for key in rows:
            wake(partition, key)


def _fold_rows(
    table: StateTable, intake: Intake, kind: type[Row], expected: type[E], fold: Callable[[Row, E, Effects], None]
) -> tuple[dict[int, dict[bytes, bytes]], dict[int, Effects]]:
    """Fold each event into the row of its key, unless that row has absorbed it already."""
    rows: dict[int, dict[bytes, bytes]] = {}
    effects = {partition: Effects() for partition in intake.taken}
    for partition, taken in intake.taken.items():
        held: dict[bytes, Row] = {}
        for record in taken:
            if not isinstance(record.event, expected):
                continue
            row = _row_of(table, held, record.key, kind(partition))
            if record.offset > row.offset:
                row.offset = record.offset
                fold(row, record.event, effects[partition])
        rows[partition] = {key: encode_row(row) for key, row in held.items()}
    return rows, effects


def _row_of(table: StateTable, held: dict[bytes, Row], key: bytes, new: Row) -> Row:
    row = held.get(key)
    if row is None:
        raw = table.data.get(key)
        row = held[key] = new if raw is None else decode_row(type(new), raw)
    return row


def keys_of(*tables: StateTable) -> Callable[[int], Iterator[bytes]]:
    """A function that lists the pipelines of a partition that any of `tables` holds, each once."""

    def keys(partition: int) -> Iterator[bytes]:
        seen: set[bytes] = set()
        for table in tables:
            for home, key, _ in table.rows():
                if home == partition and key not in seen and not is_clock(key):
                    seen.add(key)
                    yield key

    return keys
