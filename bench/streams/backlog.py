"""The backlog that every engine works off: ended runs with the six default metrics."""

from __future__ import annotations

import asyncio
from uuid import UUID

import orjson
from aiokafka import AIOKafkaProducer

from bench.streams.engines import PARTITIONS
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.topics import create_topics

PIPELINES = 2000


def run_ended(number: int) -> tuple[bytes, bytes]:
    """Key and value of one ended run with the six default metrics."""
    key = f"pipeline_{number % PIPELINES:05d}"
    minute, second = divmod(number // PIPELINES, 60)
    event = {
        "event_id": str(UUID(int=number)),
        "event_type": "run.ended",
        "schema_version": 1,
        "occurred_at": f"2026-11-30T{minute // 60 % 24:02d}:{minute % 60:02d}:{second:02d}+00:00",
        "pipeline": key,
        "run_id": str(UUID(int=1 << 64 | number)),
        "status": "succeeded",
        "duration_ms": 60_000 + number * 37 % 9000,
        "inserts": 1000 + number * 13 % 400,
        "updates": 300 + number * 7 % 90,
        "deletes": number * 3 % 20,
        "total_rows": 90_000 + number * 17 % 5000,
    }
    return key.encode(), orjson.dumps(event)


async def prepare(kafka: KafkaConnection, topics: Topics, events: int) -> None:
    """Make the topics and fill the source with the backlog."""
    await create_topics(kafka, topics, partitions=PARTITIONS, replication_factor=1)
    async with AIOKafkaProducer(**kafka.client_arguments(), linger_ms=20, max_batch_size=262_144) as producer:
        sent = []
        for number in range(events):
            key, value = run_ended(number)
            sent.append(await producer.send(topics.runs, value, key=key, partition=number % PIPELINES % PARTITIONS))
        await asyncio.gather(*sent)
