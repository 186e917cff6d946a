"""I3 while it happens: what the groups had been told, and what was durable at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import asyncpg
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from faults.chaos.log import PARTITIONS, ends_of, read
from faults.chaos.spool import Spool
from faults.invariants.progress import no_commit_ahead
from faults.invariants.violations import Violation, found
from watchline.cli.lag import committed_offsets, stored_offsets
from watchline.schemas import KafkaConnection, Topics
from watchline.schemas.errors import WatchlineError
from watchline.streams.rows import offset_of

EVERY_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Sample:
    """What the workers' group had committed of each partition, and what the changelog has absorbed since the last one.

    The latter is read a little later, so it is never less than what was there at the commit.
    """

    committed: Mapping[int, int]
    absorbed: Mapping[int, Mapping[bytes, int]]


@dataclass
class Commits:
    """Looks about once a second; a broker or database that is away is looked at again later."""

    kafka: KafkaConnection
    topics: Topics
    dsn: str
    samples: Spool[Sample]
    violations: list[Violation] = field(default_factory=list)
    missed: int = 0
    _positions: dict[int, int] = field(default_factory=dict)

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
        ends = await ends_of(address, [topics.changelog("runs")])
        absorbed = {place.partition: await self._read(place, end) for place, end in ends.items()}
        self.samples.keep(Sample({place.partition: offset for place, offset in committed.items()}, absorbed))
        self._positions = {place.partition: end for place, end in ends.items()}
        outputs = [TopicPartition(topic, number) for topic in topics.outputs for number in range(PARTITIONS)]
        told = await committed_offsets(self.kafka, topics.sink_group, outputs)
        connection = await asyncpg.connect(self.dsn, timeout=5)
        try:
            stood = await stored_offsets(connection, 0)
        finally:
            connection.terminate()
        self.violations += no_commit_ahead(topics.sink_group, told, stood)

    async def _read(self, changelog: TopicPartition, end: int) -> dict[bytes, int]:
        """The newest offset that each key has absorbed in what is new of a changelog."""
        absorbed: dict[bytes, int] = {}
        start = self._positions.get(changelog.partition, 0)
        async for records in read(self.kafka.bootstrap_servers, changelog, end, start=start):
            for record in records:
                if record.value is not None:
                    absorbed[record.key] = max(offset_of(record.value), absorbed.get(record.key, -1))
        return absorbed

    def ahead(self, number: int, events: list[tuple[int, bytes]]) -> list[Violation]:
        """What had been committed of partition `number` of `runs` before its rows were in the changelog.

        `events` are offsets and keys of the partition in their order.
        """
        absorbed, sentences = Absorbed(events), list[str]()
        for sample in self.samples:
            absorbed.take(sample.absorbed.get(number, {}))
            sentences += absorbed.short_of(sample.committed.get(number, 0))
        return found("I3", (f"{self.topics.runs}/{number}: {sentence}" for sentence in sentences))


class Absorbed:
    """Which events of a partition the rows of its changelog have absorbed, as the changelog is read on."""

    def __init__(self, events: list[tuple[int, bytes]]) -> None:
        self._events = events
        self._next = 0
        self._offsets: dict[bytes, int] = {}

    def take(self, absorbed: Mapping[bytes, int]) -> None:
        """What the changelog says next; an older row that comes late takes nothing back."""
        for key, offset in absorbed.items():
            self._offsets[key] = max(offset, self._offsets.get(key, -1))

    def short_of(self, committed: int) -> Iterator[str]:
        """The first event below `committed` that no row has absorbed yet."""
        while self._next < len(self._events) and self._events[self._next][0] < committed:
            offset, key = self._events[self._next]
            if offset > self._offsets.get(key, -1):
                yield f"{committed} was committed, and no row had absorbed {offset} of {key!r}"
                return
            self._next += 1
