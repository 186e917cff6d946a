"""What became of events: those in the log, and those that wait in an outbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from watchline.sdk.outbox import read_messages

QUIET_MS = 500
PARTITIONS = 4


async def events_in_log(address: str, topics: Sequence[str]) -> list[dict[str, Any]]:
    """Every event of `topics`; the embedded broker reports a wrong end, so this reads until nothing comes."""
    places = [TopicPartition(topic, number) for topic in topics for number in range(PARTITIONS)]
    async with AIOKafkaConsumer(bootstrap_servers=address, fetch_max_wait_ms=20) as consumer:
        consumer.assign(places)
        await consumer.seek_to_beginning()
        found: list[dict[str, Any]] = []
        while batch := await consumer.getmany(timeout_ms=QUIET_MS):
            found += [json.loads(record.value) for records in batch.values() for record in records]
        return found


def events_in_outbox(folder: Path) -> list[dict[str, Any]]:
    """Every event that waits under an outbox, left where it is."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open("rb") as file:
            found += [json.loads(message.value) for message in read_messages(file)]
    return found


def ids_of(events: Sequence[dict[str, Any]]) -> set[str]:
    """Their ids."""
    return {event["event_id"] for event in events}
