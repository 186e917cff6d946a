"""Sending the history to Kafka as fast as it takes it, in order, keyed by pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaProducer

from watchline.schemas import Event, encode
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.events import PipelineDeclared, WatermarkAdvanced
from watchline.schemas.topics import Topics

BATCH_EVENTS = 500


@asynccontextmanager
async def open_producer(kafka: KafkaConnection) -> AsyncIterator[AIOKafkaProducer]:
    """A producer that waits for all replicas, one batch a partition on its way at a time: the order stays."""
    producer = AIOKafkaProducer(acks="all", linger_ms=5, max_batch_size=256 * 1024, **kafka.client_arguments())
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def send_events(
    producer: AIOKafkaProducer, topics: Topics, events: Iterable[Event], sent: Callable[[int], None]
) -> int:
    """Send `events` in order and return how many; `sent` hears of every batch once the broker has it."""
    total = 0
    batch: list[asyncio.Future[object]] = []
    for event in events:
        key = event.pipeline.encode()
        batch.append(await producer.send(topic_of(event, topics), encode(event), key=key))
        if len(batch) == BATCH_EVENTS:
            total += await _settle(batch, sent)
    return total + await _settle(batch, sent)


async def _settle(batch: list[asyncio.Future[object]], sent: Callable[[int], None]) -> int:
    count = len(batch)
    await asyncio.gather(*batch)
    batch.clear()
    sent(count)
    return count


def topic_of(event: Event, topics: Topics) -> str:
    """The topic on which such an event travels."""
    if isinstance(event, PipelineDeclared):
        return topics.pipelines
    return topics.watermarks if isinstance(event, WatermarkAdvanced) else topics.runs
