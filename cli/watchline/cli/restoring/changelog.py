"""The changelog of the table `runs`: what it holds, and writing rows into it as a worker does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import (
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    NotCoordinatorForGroupError,
    for_code,
)

from watchline.cli.lag import committed_offsets, end_offsets
from watchline.cli.reach import kafka_admin
from watchline.cli.restoring.reading import read_all
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.rows import clock_key, is_clock, offset_of

ACK_MS = 15_000
COORDINATOR_SECONDS = 30.0
POLL_SECONDS = 0.2
COMING = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)


@dataclass(slots=True)
class Held:
    """The source offset that the row of each pipeline has absorbed, by partition."""

    absorbed: dict[int, dict[bytes, int]] = field(default_factory=dict)
    clocks: set[int] = field(default_factory=set)  # the partitions whose clock is there

    def take(self, partition: int, key: bytes, row: bytes | None) -> None:
        """Note a record as a recovery does: the newest row counts, wherever it stands."""
        rows = self.absorbed[partition]
        if is_clock(key):
            (self.clocks.discard if row is None else self.clocks.add)(partition)
        elif row is None:
            rows.pop(key, None)
        else:
            rows[key] = max(rows.get(key, -1), offset_of(row))

    def newer_than(self, begins: Mapping[int, int]) -> list[bytes]:
        """The pipelines whose rows have absorbed something of what the log still has."""
        return [
            key
            for partition, rows in self.absorbed.items()
            for key, offset in rows.items()
            if offset >= begins.get(partition, 0)
        ]


async def read_held(kafka: KafkaConnection, topics: Topics) -> Held:
    """What the changelog holds now."""
    ends = await end_offsets(kafka, [topics.changelog("runs")])
    held = Held({place.partition: {} for place in ends})
    async for place, records in read_all(kafka, ends):
        for record in records:
            held.take(place.partition, record.key, record.value)
    return held


class Writer:
    """Writes rows, each acknowledged before the next."""

    def __init__(self, producer: AIOKafkaProducer, topic: str) -> None:
        self._producer, self._topic = producer, topic

    async def write(self, partition: int, key: bytes, row: bytes, *, replaces: bool) -> None:
        """Put a row where it belongs; one that `replaces` a newer one takes that away first."""
        for value in (None, row) if replaces else (row,):
            await self._producer.send_and_wait(self._topic, value, key=key, partition=partition)

    async def forget_clock(self, partition: int) -> None:
        """Let the clock of a partition begin with the next pulse that is read."""
        await self._producer.send_and_wait(self._topic, None, key=clock_key(partition), partition=partition)


@asynccontextmanager
async def open_writer(kafka: KafkaConnection, topics: Topics) -> AsyncIterator[Writer]:
    """A writer to the changelog."""
    producer = AIOKafkaProducer(acks="all", request_timeout_ms=ACK_MS, linger_ms=0, **kafka.client_arguments())
    try:
        await producer.start()
        yield Writer(producer, topics.changelog("runs"))
    finally:
        await producer.stop()


async def count_members(kafka: KafkaConnection, topics: Topics) -> int:
    """How many workers are running; raises what the broker or aiokafka raises.

    The first question about any group has a new cluster make the topic that keeps them, which takes it a while.
    """
    deadline = time.monotonic() + COORDINATOR_SECONDS
    async with kafka_admin(kafka) as admin:
        while True:
            try:
                answers = await admin.describe_consumer_groups([topics.application])
                return sum(_members_of(group) for answer in answers for group in answer.groups)
            except COMING:
                if time.monotonic() > deadline:
                    raise
            await asyncio.sleep(POLL_SECONDS)


def _members_of(group: Sequence[Any]) -> int:
    if group[0]:
        raise for_code(group[0])(f"asked for the group {group[1]}")
    return len(group[5])


async def rewind(kafka: KafkaConnection, topics: Topics) -> int:
    """Let the workers begin where their topics begin, wherever they had got to; how many partitions that moved.

    What was lost with the other changelogs is read again too. A row skips what it has absorbed.
    """
    ends = await end_offsets(kafka, topics.sources)
    reached = await committed_offsets(kafka, topics.application, ends)
    consumer = AIOKafkaConsumer(group_id=topics.application, enable_auto_commit=False, **kafka.client_arguments())
    await consumer.start()
    try:
        first = await consumer.beginning_offsets(list(reached))
        moved = {place: first[place] for place, offset in reached.items() if offset > first[place]}
        if moved:
            consumer.assign(list(moved))
            await consumer.commit(moved)
    finally:
        await consumer.stop()
    return len(moved)
