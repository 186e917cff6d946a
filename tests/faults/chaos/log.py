"""Reading the log at the end: one partition after the other, never all of it at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition

PARTITIONS = 4
PATIENCE_SECONDS = 60.0
WAIT_MS = 500


async def read(
    bootstrap_servers: str, place: TopicPartition, end: int, *, start: int = 0
) -> AsyncIterator[list[ConsumerRecord]]:
    """The records of a partition from `start` to below `end`, some at a time; TimeoutError when they don't come."""
    if start >= end:
        return
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap_servers, group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([place])
        consumer.seek(place, start)  # below the oldest means from the oldest
        while await consumer.position(place) < end:
            async with asyncio.timeout(PATIENCE_SECONDS):
                found: list[ConsumerRecord] = []
                while not found:
                    found = (await consumer.getmany(timeout_ms=WAIT_MS)).get(place, [])
            yield [record for record in found if record.offset < end]
    finally:
        await consumer.stop()


async def ends_of(bootstrap_servers: str, topics: Iterable[str]) -> dict[TopicPartition, int]:
    """Where the broker says that each partition ends; of use on Apache Kafka only, the embedded one says too little."""
    places = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap_servers, group_id=None, enable_auto_commit=False)
    await consumer.start()
    try:
        found: dict[TopicPartition, int] = await consumer.end_offsets(places)
        return found
    finally:
        await consumer.stop()
