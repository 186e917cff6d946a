"""Reading topics from where they begin up to a known end."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured, Unavailable

CHUNK = 5000
WAIT_MS = 500
PATIENCE_SECONDS = 30.0


async def read_all(
    kafka: KafkaConnection, ends: Mapping[TopicPartition, int]
) -> AsyncIterator[tuple[TopicPartition, list[Any]]]:
    """Partition and records (aiokafka's, never none) of all before `ends`, and of what comes along with them.

    Unavailable when nothing more comes, though the end is not reached.
    """
    consumer = AIOKafkaConsumer(group_id=None, **kafka.client_arguments())
    await consumer.start()
    try:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning()
        patient_until = time.monotonic() + PATIENCE_SECONDS
        while behind := [place for place, end in ends.items() if await consumer.position(place) < end]:
            found = await consumer.getmany(timeout_ms=WAIT_MS, max_records=CHUNK)
            for place, records in found.items():
                if records:
                    yield place, records
            if any(found.values()):
                patient_until = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > patient_until:
                raise Unavailable(
                    f"{behind[0].topic}/{behind[0].partition} gives nothing more before its end at {ends[behind[0]]}",
                    hint="is Kafka well? Nothing is lost by calling the same command again before a worker starts",
                )
    finally:
        await consumer.stop()


@asynccontextmanager
async def said_of(kafka: KafkaConnection) -> AsyncIterator[None]:
    """Misconfigured or Unavailable in place of what aiokafka raises."""
    try:
        yield
    except (GroupAuthorizationFailedError, TopicAuthorizationFailedError) as error:
        raise Misconfigured(
            f"Kafka at {kafka.bootstrap_servers} refuses: {error}",
            hint="the user needs the rights of the streams and of the operator, see docs/production.md",
        ) from error
    except KafkaError as error:
        raise Unavailable(
            f"Kafka at {kafka.bootstrap_servers} stopped answering: {str(error) or type(error).__name__}",
            hint="call the same command again before a worker starts: rows that are there do no harm",
        ) from error
