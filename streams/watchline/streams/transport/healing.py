"""A changelog that somebody else wrote into, put right: the newest row of each key stands last again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, cast

import structlog
from faust.types import TP

if TYPE_CHECKING:
    from watchline.streams.transport.table import StateTable

log = structlog.get_logger()
SLICE_ROWS = 500

Records = Sequence[tuple[bytes, bytes | None]]


class ReadsRanges(Protocol):
    """A consumer that also reads what it is not assigned."""

    async def ends_of(self, partitions: Collection[TP]) -> Mapping[TP, int]:
        """The end of each partition."""
        ...

    def read_range(self, tp: TP, offsets: range) -> AsyncGenerator[Records, None]:
        """Keys and values of a range, oldest first, in chunks; what is compacted is left out."""
        ...


class Trail:
    """One partition of a changelog as its owner knows it, who alone writes there unless somebody slept.

    A gap before an offset of ours is therefore somebody else's. Or ours: a request that was repeated because its
    answer was lost stands there twice. Whoever reads the gap can tell.
    """

    def __init__(self) -> None:
        self.next_offset: int | None = None  # where our next record belongs
        self.foreign: list[range] = []  # offsets that are not known to be ours, not read yet
        self.records = 0  # that others wrote and nobody has been told of
        self.stale: set[bytes] = set()  # keys whose last record is older than the row that we hold
        self.turn = asyncio.Lock()  # held from the choice of rows until the producer has them, so that they keep order
        self.unanswered: set[asyncio.Future[None]] = set()

    def restart(self, next_offset: int | None) -> None:
        """All before `next_offset` has been read."""
        self.next_offset = next_offset
        self.foreign = []

    def wrote(self, offset: int, count: int) -> None:
        """Note where records of ours stand."""
        self.reach(offset)
        self.next_offset = max(self.next_offset or 0, offset + count)

    def reach(self, end: int) -> None:
        """Note that the partition goes on to `end`, by whoever's records."""
        if self.next_offset is not None and end > self.next_offset:
            self.foreign.append(range(self.next_offset, end))
            self.next_offset = end


class Healer:
    """Writes the rows of a table again that older ones, written late, stand behind.

    When a changelog is read, late rows count for nothing (`StateTable.age_of`), but Kafka's compaction keeps the last
    record of a key, whatever its age. A worker that has lost its partitions and does not know it yet finds only newer
    rows than its own, and writes nothing: two workers can't answer each other without end.
    """

    def __init__(self, table: StateTable) -> None:
        self._table = table

    async def look(self, *, at_ends: bool = True) -> None:
        """Look once at all partitions that are ours; raises what the broker or aiokafka raises.

        A gap shows with our next row; what is written into a partition that has no news only `at_ends`, which asks
        the broker.
        """
        if at_ends:
            await self._look_at_the_ends()
        for partition, trail in list(self._table.trails.items()):
            while trail.foreign and self._ours(partition):
                await self._read(partition, trail)
            if self._ours(partition) and (trail.stale or trail.records):
                await self._write_again(partition, trail)

    def _ours(self, partition: int) -> bool:
        """Whether the partition is ours and all of its rows are here."""
        return not cast(Any, self._table.app).rebalancing and partition in self._table.owned()

    def _place(self, partition: int) -> TP:
        return TP(self._table.changelog_topic_name, partition)

    @property
    def _reader(self) -> ReadsRanges:
        return cast(ReadsRanges, self._table.app.consumer)

    async def _look_at_the_ends(self) -> None:
        before = {
            self._place(partition): trail.next_offset
            for partition, trail in self._table.trails.items()
            if not trail.unanswered and trail.next_offset is not None and self._ours(partition)
        }
        ends = await self._reader.ends_of(before) if before else {}
        for place, next_offset in before.items():
            trail = self._table.trails[place.partition]
            if not trail.unanswered and trail.next_offset == next_offset:  # else the end may be our own
                trail.reach(ends.get(place) or 0)

    async def _read(self, partition: int, trail: Trail) -> None:
        """Find the keys of a foreign range whose last record is older than what we hold.

        A key with a newer one is left alone: then it is us who slept.
        """
        offsets, records = trail.foreign[0], 0
        stale, newer = set(trail.stale), set[bytes]()
        async with aclosing(self._reader.read_range(self._place(partition), offsets)) as chunks:
            async for chunk in chunks:
                if not self._ours(partition):
                    return
                records += len(chunk)
                for key, row in chunk:
                    (stale.add if self._table.late(key, row) else stale.discard)(key)
                    if self._table.ahead(key, row):
                        newer.add(key)
        if offsets in trail.foreign:  # else all was read again meanwhile
            trail.foreign.remove(offsets)
            trail.records += records
            trail.stale = stale - newer

    async def _write_again(self, partition: int, trail: Trail) -> None:
        """Slice by slice, so that no batch has to wait for long."""
        stale, written = sorted(trail.stale), 0
        for first in range(0, len(stale), SLICE_ROWS):
            keys = stale[first : first + SLICE_ROWS]
            async with trail.turn:
                if trail.unanswered:  # a row on its way is newer than the one that we hold
                    await asyncio.wait(trail.unanswered)
                if not self._ours(partition):
                    return
                rows = self._table.rows_of(partition, keys)
                answer = await self._table.write(partition, rows, keep={})
            await answer
            trail.stale.difference_update(keys)
            written += len(rows)
        log.warning(
            "changelog.healed", topic=self._table.changelog_topic_name, partition=partition,
            foreign=max(trail.records, len(stale)), rows=written,
        )  # fmt: skip
        trail.records = 0
