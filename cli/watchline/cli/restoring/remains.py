"""What the topic of the runs still holds: where each partition begins, and which events it will bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import asyncpg
import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition

from watchline.cli.lag import end_offsets
from watchline.cli.restoring.reading import read_all
from watchline.schemas import BadEvent, RunStarted, decode
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.pulses import decode_pulse

TABLES = (
    "create temporary table log_starts (run_id uuid not null)",
    "create temporary table log_events (event_id uuid not null)",
)
INDEXES = (
    "create index on pg_temp.log_starts (run_id)",
    "create index on pg_temp.log_events (event_id)",
    "analyze pg_temp.log_starts",
    "analyze pg_temp.log_events",
)


class Named(msgspec.Struct):
    """What is needed of an event: a fraction of the time that decoding all of it takes."""

    event_type: str
    event_id: UUID
    run_id: UUID | None = None


NAMES = msgspec.json.Decoder(Named)


@dataclass(slots=True)
class Remains:
    """The first offset of each partition, where it ends, and when its first record was written."""

    begins: dict[int, int]
    ends: dict[int, int]
    first_at: dict[int, datetime] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """How many offsets there are to read."""
        return sum(self.ends[partition] - begin for partition, begin in self.begins.items())


async def find_remains(kafka: KafkaConnection, topics: Topics) -> Remains:
    """Where each partition of the runs begins and ends now."""
    ends = await end_offsets(kafka, [topics.runs])
    consumer = AIOKafkaConsumer(group_id=None, **kafka.client_arguments())
    await consumer.start()
    try:
        begins = await consumer.beginning_offsets(list(ends))
    finally:
        await consumer.stop()
    return Remains(
        {place.partition: offset for place, offset in begins.items()},
        {place.partition: offset for place, offset in ends.items()},
    )


async def read_remains(
    kafka: KafkaConnection,
    topics: Topics,
    remains: Remains,
    connection: asyncpg.Connection[Any],
    advance: Callable[[int], None],
) -> None:
    """Note every event of the log in two temporary tables, and when each partition begins; bounded in memory.

    `advance` hears how many records were read. That is less work than the worker has with them that comes next.
    """
    for statement in TABLES:
        await connection.execute(statement)
    ends = {TopicPartition(topics.runs, number): end for number, end in remains.ends.items()}
    async for place, records in read_all(kafka, ends):
        _note_time(remains, place.partition, records[0])
        await _note_events(connection, records)
        advance(len(records))
    for statement in INDEXES:
        await connection.execute(statement)


def _note_time(remains: Remains, partition: int, record: Any) -> None:
    remains.first_at.setdefault(partition, datetime.fromtimestamp(record.timestamp / 1000, UTC))


async def _note_events(connection: asyncpg.Connection[Any], records: Iterable[Any]) -> None:
    starts: list[tuple[UUID]] = []
    events: list[tuple[UUID]] = []
    for record in records:
        named = name_of(record.value)
        if named is None:
            continue
        if named.event_type == "run.started" and named.run_id is not None:
            starts.append((named.run_id,))
        elif named.event_type != "run.heartbeat":
            events.append((named.event_id,))
    for table, found in (("log_starts", starts), ("log_events", events)):
        await connection.copy_records_to_table(table, records=found, schema_name="pg_temp")


def name_of(raw: bytes | None) -> Named | None:
    """Which event a record is; None for a pulse, and for what the streams put aside.

    What msgspec does not take for an event the decoder may still repair.
    """
    if decode_pulse(raw) is not None:
        return None
    try:
        return NAMES.decode(raw or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        event = decode(raw, now=datetime.now(UTC))
    except BadEvent:
        return None
    run_id = event.run_id if isinstance(event, RunStarted) else None
    return Named(event.event_type, event.event_id, run_id)
