"""How far the groups are, and waiting until they have it all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

import asyncpg
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from stack.contents import value
from watchline.cli.lag import committed_offsets, end_offsets, lag, stored_offsets
from watchline.schemas import KafkaConnection, Topics

UNHEARD = "select count(*) from alert_outbox where state = 'pending'"


@dataclass(frozen=True, slots=True)
class Stand:
    """Asks Kafka and Postgres, past all proxies."""

    kafka: KafkaConnection
    topics: Topics
    dsn: str

    async def committed(self, group: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What a group has committed; nothing while its coordinator moves."""
        try:
            return await committed_offsets(self.kafka, group, places)
        except KafkaError:
            return {}

    async def sinks(self) -> dict[TopicPartition, int]:
        """Up to where Postgres holds each partition of the outputs."""
        connection = await asyncpg.connect(self.dsn)
        try:
            return await stored_offsets(connection, 0)
        finally:
            await connection.close()

    async def stored(self) -> None:
        """Wait until Postgres holds all that the workers have said."""
        ends = await end_offsets(self.kafka, self.topics.outputs)
        while lag(ends, await self.sinks()):
            await asyncio.sleep(0.1)

    async def unheard(self) -> int:
        """How many alerts wait to be heard."""
        waiting: int = await value(self.dsn, UNHEARD)
        return waiting
