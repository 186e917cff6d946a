"""A small application that counts: per key how many events, exactly once, whatever happens to it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from faust.types import EventT

from watchline.streams.transport import StateTable


class Count(NamedTuple):
    """A row: the source offset it has absorbed and the events counted."""

    absorbed: int = -1
    events: int = 0

    def encode(self) -> bytes:
        return b"%d %d" % self

    @classmethod
    def decode(cls, raw: bytes | None) -> Count:
        return cls(*map(int, raw.split())) if raw is not None else cls()


def fold(rows: StateTable, events: Iterable[EventT[Any]]) -> dict[int, dict[bytes, bytes | None]]:
    """The changed rows of a batch, by partition; an event at or below the absorbed offset changes nothing."""
    changed: dict[tuple[int, bytes], Count] = {}
    for event in events:
        message = event.message
        place = message.partition, message.key or b""
        count = changed.get(place) or Count.decode(rows.data.get(place[1]))
        if message.offset > count.absorbed:
            changed[place] = Count(message.offset, count.events + 1)
    by_partition: dict[int, dict[bytes, bytes | None]] = {}
    for (partition, key), count in changed.items():
        by_partition.setdefault(partition, {})[key] = count.encode()
    return by_partition


def count_events(app: Any, topic: str, *, partitions: int, table: str = "runs") -> StateTable:
    """Declare the topic, the table and the agent; returns the table."""
    rows: StateTable = app.Table(table, key_type=bytes, value_type=bytes, partitions=partitions)
    events = app.topic(topic, key_type=bytes, value_type=bytes, value_serializer="raw")

    @app.agent(events)  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def count(stream: Any) -> None:
        async for batch in stream.take_events(500):
            await asyncio.gather(*await rows.put_many(fold(rows, batch)))

    return rows
