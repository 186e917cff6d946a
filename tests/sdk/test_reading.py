"""Reading one key of a partition to its end."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import TopicPartition
from aiokafka.structs import ConsumerRecord

from watchline.sdk.kafka import read_key

PLACE = TopicPartition("watermarks", 0)


class BusyPartition:
    """As much of a consumer as reading needs: the first record is ours, and others follow without end."""

    def __init__(self) -> None:
        self.next = 0

    def assign(self, places: list[TopicPartition]) -> None:
        assert places == [PLACE]

    async def seek_to_beginning(self, place: TopicPartition) -> None:
        self.next = 0

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(places, 3)

    async def position(self, place: TopicPartition) -> int:
        return self.next

    async def getmany(self, place: TopicPartition, *, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        await asyncio.sleep(0)
        key = b"orders" if self.next == 0 else b"others"
        record = ConsumerRecord("watermarks", 0, self.next, 0, 0, key, b"value", None, 6, 5, ())
        self.next += 1
        return {place: [record]}


async def test_a_partition_that_others_keep_writing_to_is_read_to_its_end() -> None:
    consumer: Any = BusyPartition()

    async with asyncio.timeout(10):
        values = await read_key(consumer, "watermarks", b"orders", 0)

    assert values == [b"value"]
    assert consumer.next >= 3
