"""Topics of one test: created before it, deleted after it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable

from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from watchline.schemas.topics import TopicSpec

READY_SECONDS = 20.0


async def create_topics(bootstrap_servers: str, specs: Iterable[TopicSpec], *, partitions: int) -> None:
    """Create the topics and return when every partition has a leader."""
    wanted = [NewTopic(spec.name, partitions, 1, topic_configs=spec.config) for spec in specs]
    names = [topic.name for topic in wanted]
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()
    try:
        answer = await admin.create_topics(wanted)
        failed = [error for error in answer.topic_errors if error[1] != 0]
        assert not failed, f"the broker refused topics: {failed}"
        deadline = time.monotonic() + READY_SECONDS
        while not await _have_leaders(admin, names, partitions):
            assert time.monotonic() < deadline, f"no leaders within {READY_SECONDS} s: {names}"
            await asyncio.sleep(0.02)
    finally:
        await admin.close()


async def delete_topics(bootstrap_servers: str, names: list[str]) -> None:
    """Delete the topics."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers)
    await admin.start()
    try:
        await admin.delete_topics(names)
    finally:
        await admin.close()


async def _have_leaders(admin: AIOKafkaAdminClient, names: list[str], partitions: int) -> bool:
    described = await admin.describe_topics(names)
    return len(described) == len(names) and all(
        topic["error_code"] == 0
        and len(topic["partitions"]) == partitions
        and all(partition["leader"] >= 0 for partition in topic["partitions"])
        for topic in described
    )
