"""What a topic holds, read to its end."""

from __future__ import annotations

import asyncio

from aiokafka import AIOKafkaConsumer

from brokers.kinds import Broker
from watchline.cli.lag import end_offsets
from watchline.schemas import KafkaConnection

PATIENCE = 30.0


async def log_of(broker: Broker, topic: str) -> list[bytes]:
    """All values of a topic, in the order of each partition."""
    ends = await end_offsets(KafkaConnection(bootstrap_servers=broker.bootstrap_servers), [topic])
    values: list[bytes] = []
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, fetch_max_wait_ms=20) as consumer:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning()
        async with asyncio.timeout(PATIENCE):
            while len(values) < sum(ends.values()):
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    values += [record.value for record in records]
    return values
