"""An in-memory broker for a real Faust application: logs, one consumer group protocol, no network, no threads.

It is there to drive Faust's own conductor, bookkeeping, recovery and assignor; it proves nothing about Kafka.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import faust
from aiokafka.partitioner import DefaultPartitioner
from faust.transport import base
from faust.transport.consumer import Consumer
from faust.transport.producer import Producer
from faust.types import TP, ConsumerMessage, RecordMetadata
from faust.types.core import HeadersArg
from yarl import URL

from watchline.streams.transport.delivery import BatchDelivery
from watchline.streams.transport.producer import RawRecord, SentBatch, StrictFlush

PARTITIONS = 4


class Logged(NamedTuple):
    """One record of a log, with the names that aiokafka gives them."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: int
    headers: tuple[tuple[str, bytes], ...]
    key: bytes | None
    value: bytes | None
    checksum: None
    serialized_key_size: int
    serialized_value_size: int


@dataclass
class Group:
    """The members, commits and generation of one consumer group."""

    members: dict[str, MemoryConsumer] = field(default_factory=dict)
    committed: dict[TP, int] = field(default_factory=dict)
    generation: int = 0
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class MemoryBroker:
    """Topics and groups; the public fields are the switches of a test."""

    def __init__(self) -> None:
        self.logs: dict[TP, list[Logged]] = {}
        self.ends: dict[TP, int] = {}
        self.groups: dict[str, Group] = {}
        self.may_produce = asyncio.Event()  # cleared: produce requests are not answered
        self.may_produce.set()
        self.seek_seconds = 0.0  # how long a seek to the committed offsets takes
        self.reported_end_too_low_by = 0

    def create(self, topic: str, partitions: int = PARTITIONS) -> None:
        """Make a topic unless it exists."""
        for number in range(partitions):
            self.logs.setdefault(TP(topic, number), [])
            self.ends.setdefault(TP(topic, number), 0)

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> int:
        """Add a record and return its offset."""
        self.create(topic)
        tp = TP(topic, partition)
        offset, now = self.ends[tp], int(time.time() * 1000)
        sizes = len(key or b""), len(value or b"")
        self.logs[tp].append(Logged(topic, partition, offset, now, 0, (), key, value, None, *sizes))
        self.ends[tp] += 1
        return offset

    def skip(self, topic: str, partition: int) -> None:
        """Use up an offset that holds no readable record, as a transaction marker does."""
        self.ends[TP(topic, partition)] += 1

    def partition_of(self, topic: str, key: bytes | None) -> int:
        """Kafka's default partitioner."""
        numbers = sorted(tp.partition for tp in self.logs if tp.topic == topic)
        return int(DefaultPartitioner()(key, numbers, numbers))

    def partitions_for_topic(self, topic: str) -> set[int]:
        """What the assignor asks a cluster."""
        return {tp.partition for tp in self.logs if tp.topic == topic}

    def records(self, topic: str) -> Iterator[Logged]:
        """All records of a topic, partition by partition."""
        for tp, log in self.logs.items():
            if tp.topic == topic:
                yield from log

    def group(self, name: str) -> Group:
        """The group of that name, made on first use."""
        return self.groups.setdefault(name, Group())

    def lag(self, group: str, topic: str) -> int:
        """Records not yet committed."""
        committed = self.group(group).committed
        return sum(end - committed.get(tp, 0) for tp, end in self.ends.items() if tp.topic == topic)

    async def rebalance(self, name: str) -> None:
        """Revoke everything from all members, then assign anew, as an eager group protocol does."""
        group = self.group(name)
        async with group.turn:
            members = dict(group.members)
            if not members:
                return
            for member in members.values():
                member.app.on_rebalance_start()
            await asyncio.gather(*(m.on_partitions_revoked(set(m.assigned)) for m in members.values()))
            group.generation += 1
            leader: Any = next(iter(members.values())).app.assignor
            offers = {mid: m.app.assignor.metadata(m.topics) for mid, m in members.items()}  # type: ignore[attr-defined]  # Faust's own
            shares = leader.assign(self, offers)
            await asyncio.gather(*(m.take(shares[mid], group) for mid, m in members.items()))

    def attach(self, app: faust.App, *, stock: bool) -> None:
        """Make the application talk to this broker, by the stock classes or by ours."""
        kind = StockTransport if stock else SafeTransport
        transport = kind([URL("memory://")], app)
        transport.broker = self
        app.transport = transport
        app.producer_transport = transport


_numbers = itertools.count()


class MemoryConsumer(Consumer):
    """A stock consumer whose transport is a `MemoryBroker`."""

    max_records = 5000

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.broker: MemoryBroker = self.transport.broker  # type: ignore[attr-defined]  # a MemoryTransport
        self.member_id = f"member-{next(_numbers)}"
        self.assigned: set[TP] = set()
        self.positions: dict[TP, int] = {}
        self.topics: set[str] = set()
        self.ranges: list[tuple[TP, range]] = []  # that were read so
        self.killed = False
        self.buried = asyncio.Event()  # set when the test is over: what waits may end

    @property
    def group(self) -> Group:
        return self.broker.group(self.app.conf.id)

    def kill(self) -> None:
        """What SIGKILL does: no commit, no fetch, no produce from here on."""
        self.killed = True
        self.group.members.pop(self.member_id, None)

    async def take(self, share: Any, group: Group) -> None:
        """Take over an assignment made by the leader."""
        self.app.assignor.on_assignment(share)  # type: ignore[attr-defined]  # aiokafka's side of the assignor
        self.assigned = {TP(topic, number) for topic, numbers in share.assignment for number in numbers}
        self.positions = {tp: group.committed.get(tp, 0) for tp in self.assigned}
        self.app.consumer_generation_id = group.generation
        await self.on_partitions_assigned(set(self.assigned), group.generation)

    async def create_topic(self, topic: str, partitions: int, *args: Any, **kwargs: Any) -> None:
        self.broker.create(topic, partitions)

    async def subscribe(self, topics: Iterable[str]) -> None:
        self.topics = set(topics)
        for topic in self.topics:
            self.broker.create(topic)
        self.group.members[self.member_id] = self
        self.joining = asyncio.ensure_future(self.broker.rebalance(self.app.conf.id))

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    def assignment(self) -> set[TP]:
        return set(self.assigned)

    def highwater(self, tp: TP) -> int:
        return self.broker.ends[tp]

    async def highwaters(self, *partitions: TP) -> Mapping[TP, int]:
        low = self.broker.reported_end_too_low_by
        return {tp: max(self.broker.ends[tp] - low, min(self.broker.ends[tp], 1)) for tp in partitions}

    async def ends_of(self, partitions: Collection[TP]) -> Mapping[TP, int]:
        return {tp: self.broker.ends[tp] for tp in partitions}

    async def read_range(self, tp: TP, offsets: range) -> AsyncIterator[list[tuple[bytes | None, bytes | None]]]:
        """What our consumer reads by a connection of its own."""
        self.ranges.append((tp, offsets))
        yield [(record.key, record.value) for record in self.broker.logs[tp] if record.offset in offsets]

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        return dict.fromkeys(partitions, 0)

    def topic_partitions(self, topic: str) -> int | None:
        return len(self.broker.partitions_for_topic(topic)) or None

    async def position(self, tp: TP) -> int | None:
        return self.positions.get(tp)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        offsets: dict[TP, int] = {}
        for tp in self.assigned:
            if tp.topic not in self.app.tables.changelog_topics:
                self.positions[tp] = offsets[tp] = self.group.committed.get(tp, 0)
        await asyncio.sleep(self.broker.seek_seconds)
        return offsets

    async def _seek(self, partition: TP, offset: int) -> None:
        self.positions[partition] = offset

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        for tp, offset in partitions.items():
            self.positions[tp] = offset
            self._read_offset[tp] = offset or None

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        await self.die_if_killed()
        self.group.committed.update(offsets)
        return True

    async def die_if_killed(self) -> None:
        """A killed process never comes back from a request."""
        if self.killed:
            await self.buried.wait()

    async def _getmany(
        self,
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 - Faust's signature
    ) -> dict[TP, list[Logged]]:
        await self.die_if_killed()
        deadline = time.monotonic() + timeout
        while self.flow_active and not self.killed:
            found = {tp: chunk for tp in list(active_partitions or ()) if (chunk := self._read(tp))}
            if found or time.monotonic() > deadline:
                return found
            await asyncio.sleep(0.002)
        return {}

    def _read(self, tp: TP) -> list[Logged]:
        if tp not in self.assigned:
            return []
        log = self.broker.logs[tp]
        first = bisect_left(log, self.positions[tp], key=lambda record: record.offset)
        chunk = log[first : first + self.max_records]
        last = first + len(chunk) == len(log)
        self.positions[tp] = self.broker.ends[tp] if last else chunk[-1].offset + 1
        return chunk

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        generation = self.app.consumer_generation_id
        seconds = record.timestamp / 1000.0
        place = record.topic, record.partition, record.offset
        content = record.headers, record.key, record.value, None
        return ConsumerMessage(*place, seconds, 0, *content, tp=tp, generation_id=generation)

    def key_partition(self, topic: str, key: bytes | None, partition: int | None = None) -> int | None:
        return self.broker.partition_of(topic, key) if partition is None else partition

    async def on_stop(self) -> None:
        await super().on_stop()
        self.group.members.pop(self.member_id, None)


class SafeMemoryConsumer(BatchDelivery, MemoryConsumer):
    """Our consumer on a `MemoryBroker`."""


class MemoryProducer(Producer):
    """A stock producer whose transport is a `MemoryBroker`."""

    @property
    def broker(self) -> MemoryBroker:
        broker: MemoryBroker = self.transport.broker  # type: ignore[attr-defined]  # a MemoryTransport
        return broker

    async def create_topic(self, topic: str, partitions: int, *args: Any, **kwargs: Any) -> None:
        self.broker.create(topic, partitions)

    def key_partition(self, topic: str, key: bytes) -> TP:
        return TP(topic, self.broker.partition_of(topic, key))

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        timestamp: float | None,
        headers: HeadersArg | None,
        *,
        transactional_id: str | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        number = self.broker.partition_of(topic, key) if partition is None else partition
        (sent,) = await self.send_batches(topic, number, [(key, value, None)])
        return sent[0]

    async def send_batches(self, topic: str, partition: int, records: Iterable[RawRecord]) -> list[SentBatch]:
        """One batch of whatever is given, appended at once."""
        consumer: Any = self.app.consumer
        await consumer.die_if_killed()
        await self.broker.may_produce.wait()
        offsets = [self.broker.append(topic, partition, key, value) for key, value, _ in records]
        done: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        done.set_result(RecordMetadata(topic, partition, TP(topic, partition), offsets[0]))
        return [(done, len(offsets))]

    async def partition_of(self, topic: str, key: bytes | None) -> int:
        return self.broker.partition_of(topic, key)

    async def flush(self) -> None:
        await self.buffer.flush()

    def supports_headers(self) -> bool:
        return True


class SafeMemoryProducer(StrictFlush, MemoryProducer):
    """Our producer on a `MemoryBroker`."""


class MemoryTransport(base.Transport):
    """What an application asks for consumers and producers."""

    driver_version = "memory"
    default_port = 0
    broker: MemoryBroker


class StockTransport(MemoryTransport):
    """Faust's own classes."""

    Consumer = MemoryConsumer
    Producer = MemoryProducer


class SafeTransport(MemoryTransport):
    """Our classes."""

    Consumer = SafeMemoryConsumer
    Producer = SafeMemoryProducer


async def until(condition: Any, seconds: float = 20.0) -> None:
    """Wait until `condition()` holds; fails after `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)
    assert condition(), "the condition did not come true in time"


def source(app: Any, name: str = "events") -> Any:
    """A topic of raw bytes."""
    return app.topic(name, key_type=bytes, value_type=bytes, value_serializer="raw")


def table(app: Any, name: str = "rows") -> Any:
    """A table of raw bytes."""
    return app.Table(name, key_type=bytes, value_type=bytes, partitions=PARTITIONS)
