"""I3 while it happens: what the groups had been told, and what was durable at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import asyncpg
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from faults.chaos.log import PARTITIONS, ends_of, read
from faults.invariants.progress import no_commit_ahead
from faults.invariants.violations import Violation, found
from watchline.cli.lag import committed_offsets, stored_offsets
from watchline.schemas import KafkaConnection, Topics
from watchline.schemas.errors import WatchlineError
from watchline.streams.rows import offset_of

EVERY_SECONDS = 1.0
Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Sample:
    """What the workers' group had committed, then (a little later, so never less) where the changelog ended."""

    committed: Offsets
    ends: Offsets


@dataclass
class Commits:
    """Looks about once a second; a broker or database that is away is looked at again later."""

    kafka: KafkaConnection
    topics: Topics
    dsn: str
    samples: list[Sample] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    missed: int = 0

    async def watch(self) -> None:
        """Look, for ever."""
        while True:
            try:
                async with asyncio.timeout(20):
                    await self._look()
            except (
                KafkaError,
                WatchlineError,
                OSError,
                TimeoutError,
                asyncpg.PostgresError,
                asyncpg.InterfaceError,
                asyncpg.InternalClientError,
            ):
                self.missed += 1
            await asyncio.sleep(EVERY_SECONDS)

    async def _look(self) -> None:
        address, topics = self.kafka.bootstrap_servers, self.topics
        sources = [TopicPartition(topics.runs, number) for number in range(PARTITIONS)]
        committed = await committed_offsets(self.kafka, topics.application, sources)
        self.samples.append(Sample(committed, await ends_of(address, [topics.changelog("runs")])))
        outputs = [TopicPartition(topic, number) for topic in topics.outputs for number in range(PARTITIONS)]
        told = await committed_offsets(self.kafka, topics.sink_group, outputs)
        connection = await asyncpg.connect(self.dsn, timeout=5)
        try:
            stood = await stored_offsets(connection, 0)
        finally:
            connection.terminate()
        self.violations += no_commit_ahead(topics.sink_group, told, stood)

    async def ahead(self, address: str, number: int, events: list[tuple[int, bytes]]) -> list[Violation]:
        """What had been committed of partition `number` of `runs` before its rows were in the changelog.

        `events` are offsets and keys of the partition in their order.
        """
        changelog = TopicPartition(self.topics.changelog("runs"), number)
        end = self.samples[-1].ends.get(changelog, 0) if self.samples else 0
        absorbed = Absorbed(events)
        place = TopicPartition(self.topics.runs, number)
        waiting = [(one.ends.get(changelog, 0), one.committed.get(place, 0)) for one in self.samples]
        sentences: list[str] = []
        async for records in read(address, changelog, end):
            for record in records:
                while waiting and waiting[0][0] <= record.offset:
                    sentences += absorbed.short_of(waiting.pop(0)[1])
                absorbed.take(record.key, record.value)
        for _, committed in waiting:
            sentences += absorbed.short_of(committed)
        return found("I3", (f"{place.topic}/{number}: {sentence}" for sentence in sentences))


class Absorbed:
    """Which events of a partition the rows of its changelog have absorbed, as the changelog is read on."""

    def __init__(self, events: list[tuple[int, bytes]]) -> None:
        self._events = events
        self._next = 0
        self._offsets: dict[bytes, int] = {}

    def take(self, key: bytes, row: bytes | None) -> None:
        """The next record of the changelog."""
        if row is not None:
            self._offsets[key] = max(offset_of(row), self._offsets.get(key, -1))

    def short_of(self, committed: int) -> Iterator[str]:
        """The first event below `committed` that no row has absorbed yet."""
        while self._next < len(self._events) and self._events[self._next][0] < committed:
            offset, key = self._events[self._next]
            if offset > self._offsets.get(key, -1):
                yield f"{committed} was committed, and no row had absorbed {offset} of {key!r}"
                return
            self._next += 1
