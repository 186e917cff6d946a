"""Sinks that run as they do in production, a producer for what they read, and waiting for rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from aiokafka import AIOKafkaProducer
from pydantic import SecretStr

from brokers.kinds import Broker
from watchline.consumers.sink import SinkSettings, run
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.records import DeadLetter, IncidentRecord, SinkRecord
from watchline.schemas.topics import Topics

DEADLINE_SECONDS = 60.0


def settings_for(broker: Broker, topics: Topics, dsn: str, **changes: Any) -> SinkSettings:
    """Settings of a sink on the test's broker and database, with time-outs that suit the embedded broker."""
    fields: dict[str, Any] = {
        "postgres_dsn": SecretStr(dsn),
        "topic_prefix": topics.prefix,
        "kafka": KafkaConnection(bootstrap_servers=broker.bootstrap_servers),
        "session_timeout_seconds": 6,
        "rebalance_timeout_seconds": 6,
        "retry_max_seconds": 0.5,
        "batch_size": 50,
    }
    return SinkSettings(**fields | changes)


@asynccontextmanager
async def running(settings: SinkSettings) -> AsyncIterator[asyncio.Task[None]]:
    """A sink in the background; stopped at the end, and what it raised is raised."""
    stop = asyncio.Event()
    task = asyncio.create_task(run(settings, stop))
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait({task}, timeout=DEADLINE_SECONDS)
        ended = task.done()
        task.cancel()
    assert ended, f"the sink did not stop within {DEADLINE_SECONDS:g} s"
    if not task.cancelled():
        task.result()


async def produce(broker: Broker, topics: Topics, records: Iterable[SinkRecord | bytes], *, partition: int = 0) -> None:
    """Write the records into their topics as the streams do."""
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
        for record in records:
            raw = record if isinstance(record, bytes) else record.model_dump_json().encode()
            await producer.send(topic_of(topics, record), raw, key=b"orders_daily", partition=partition)
        await producer.flush()


def topic_of(topics: Topics, record: SinkRecord | bytes) -> str:
    if isinstance(record, IncidentRecord):
        return topics.incidents
    return topics.dead_letters if isinstance(record, DeadLetter) else topics.state


async def until(connection: asyncpg.Connection, query: str, expected: Any) -> None:
    """Return when the query's first value is what is expected."""
    found = None
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (found := await connection.fetchval(query)) != expected:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{query} gives {found}, not {expected}") from None
