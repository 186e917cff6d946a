"""Reading topics from where one stopped, a chunk at a time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from faults.lives import behind
from watchline.cli.lag import end_offsets
from watchline.schemas import KafkaConnection

CHUNK = 2000
PATIENCE_SECONDS = 30.0


class Tail:
    """The records of some topics in the order of each partition; every `read` goes on where the last one ended."""

    def __init__(self, bootstrap_servers: str, topics: Sequence[str]) -> None:
        self.positions: dict[TopicPartition, int] = {}
        self._kafka = KafkaConnection(bootstrap_servers=bootstrap_servers)
        self._topics = topics

    async def read(self) -> AsyncIterator[tuple[TopicPartition, list[Any]]]:
        """Partition and records (aiokafka's), up to what is the end now; fails when the broker gives no more."""
        ends = await end_offsets(self._kafka, self._topics)
        if not behind(self.positions, ends):
            return
        consumer = AIOKafkaConsumer(group_id=None, **self._kafka.client_arguments())
        await consumer.start()
        try:
            consumer.assign(list(ends))
            for place in ends:
                consumer.seek(place, self.positions.get(place, 0))  # below the oldest means from the oldest
            deadline = time.monotonic() + PATIENCE_SECONDS
            while behind(self.positions, ends):
                assert time.monotonic() < deadline, f"no more records, short of {behind(self.positions, ends)}"
                for place, records in (await consumer.getmany(timeout_ms=200, max_records=CHUNK)).items():
                    deadline = time.monotonic() + PATIENCE_SECONDS
                    yield place, records
                self.positions |= {place: await consumer.position(place) for place in ends}
        finally:
            await consumer.stop()
