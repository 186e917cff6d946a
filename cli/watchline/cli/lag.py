"""How far a consumer group is behind the log."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import asyncpg
from aiokafka import AIOKafkaConsumer, TopicPartition

from watchline.cli.reach import kafka_admin
from watchline.schemas.connection import KafkaConnection

IDLE_MS = 300
LAST_SECONDS = 3.0
STORED = """
    select topic, partition, coalesce(next_offset, 0) as next_offset from public.sink_offsets where log_epoch = $1
"""


async def end_offsets(kafka: KafkaConnection, topics: Iterable[str]) -> dict[TopicPartition, int]:
    """The offset after the last record of every partition of `topics`, those of missing topics left out.

    The embedded broker reports an end before the last records, so what follows is read until nothing comes; for
    seconds at most, since jobs may go on sending.
    """
    consumer = AIOKafkaConsumer(group_id=None, fetch_max_wait_ms=20, **kafka.client_arguments())
    await consumer.start()
    try:
        places = await partitions_of(kafka, topics)
        if not places:
            return {}
        consumer.assign(places)
        for place, offset in (await consumer.end_offsets(places)).items():
            consumer.seek(place, offset)
        deadline = time.monotonic() + LAST_SECONDS
        while await consumer.getmany(timeout_ms=IDLE_MS) and time.monotonic() < deadline:
            continue
        return {place: await consumer.position(place) for place in places}
    finally:
        await consumer.stop()


async def partitions_of(kafka: KafkaConnection, topics: Iterable[str]) -> list[TopicPartition]:
    """The partitions of those topics that exist; all are asked for, since naming one may create it."""
    async with kafka_admin(kafka) as admin:
        found = {topic["topic"]: topic["partitions"] for topic in await admin.describe_topics()}
    return [TopicPartition(topic, one["partition"]) for topic in topics for one in found.get(topic, ())]


async def committed_offsets(
    kafka: KafkaConnection, group: str, places: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """What `group` has committed of `places`; those without a commit are left out."""
    async with kafka_admin(kafka) as admin:
        found = await admin.list_consumer_group_offsets(group, partitions=list(places))
    return {place: metadata.offset for place, metadata in found.items() if metadata.offset >= 0}


async def stored_offsets(connection: asyncpg.Connection[Any], epoch: int) -> dict[TopicPartition, int]:
    """Up to where the sink has stored each partition of log `epoch`; empty when it has never run on it."""
    rows = await connection.fetch(STORED, epoch)
    return {TopicPartition(row["topic"], row["partition"]): row["next_offset"] for row in rows}


def lag(ends: Mapping[TopicPartition, int], reached: Mapping[TopicPartition, int]) -> int:
    """How many records of `ends` are not `reached`; a partition without a position counts in full."""
    return sum(max(0, end - reached.get(place, 0)) for place, end in ends.items())
