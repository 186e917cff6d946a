"""Reading topics from where they begin up to a known end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from watchline.schemas.connection import KafkaConnection

CHUNK = 5000
WAIT_MS = 500


async def read_all(
    kafka: KafkaConnection, ends: Mapping[TopicPartition, int]
) -> AsyncIterator[tuple[TopicPartition, list[Any]]]:
    """Partition and records (aiokafka's, never none) of all before `ends`, and of what comes along with them."""
    consumer = AIOKafkaConsumer(group_id=None, **kafka.client_arguments())
    await consumer.start()
    try:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning()
        while any([await consumer.position(place) < end for place, end in ends.items()]):
            for place, records in (await consumer.getmany(timeout_ms=WAIT_MS, max_records=CHUNK)).items():
                if records:
                    yield place, records
    finally:
        await consumer.stop()
