"""A cluster of three that loses one broker after the other under load: nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import RecordMetadata

from brokers.cluster import ApacheCluster
from faults.judged import undeclared_history
from faults.lives import QUICK
from faults.streamed import Streamed
from network.logs import log_of
from stack.services import Services, services
from watchline.schemas import Event, Topics, encode
from watchline.streams.topics import leader_topic

pytestmark = [pytest.mark.durable("it is one process"), pytest.mark.faults]
PATIENCE = 90.0
COPIES = 3


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[ApacheCluster]:
    made = ApacheCluster(tmp_path_factory.mktemp("cluster"), cache=jars)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def running(cluster: ApacheCluster, tmp_path: Path, database: str) -> Iterator[Services]:
    topics = Topics(prefix=f"t{uuid4().hex[:12]}")
    more = {**QUICK, "WATCHLINE_REPLICATION_FACTOR": str(COPIES)}
    with services(tmp_path, cluster.bootstrap_servers, database, topics, more) as made:
        command = [sys.executable, "-m", "watchline.cli", "topics", "create"]
        done = subprocess.run(command, env=made.job_environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        yield made


@pytest.fixture
async def admin(cluster: ApacheCluster) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    await client.start()
    yield client
    await client.close()


async def test_every_topic_that_the_product_makes_has_three_copies(
    admin: AIOKafkaAdminClient, running: Services
) -> None:
    topics = Topics(prefix=running.environment["WATCHLINE_TOPIC_PREFIX"])

    copies = {
        topic["topic"]: {len(partition["replicas"]) for partition in topic["partitions"]}
        for topic in await admin.describe_topics()
        if topic["topic"].startswith(topics.prefix)
    }

    assert copies == {name: {COPIES} for name in [*(spec.name for spec in topics.specs()), leader_topic(topics)]}


async def test_brokers_may_die_one_at_a_time(
    cluster: ApacheCluster, admin: AIOKafkaAdminClient, running: Services, database: str
) -> None:
    topics = Topics(prefix=running.environment["WATCHLINE_TOPIC_PREFIX"])
    streamed, story = Streamed(cluster, topics, database), undeclared_history()
    pieces = iter(cut_up(story, 2 * len(cluster.nodes) + 1))
    sink, worker = running.start("sink"), running.start("streams")

    for node in cluster.nodes:
        async with asyncio.TaskGroup() as at_once:
            at_once.create_task(send(streamed, next(pieces)))
            at_once.create_task(asyncio.to_thread(cluster.kill, node))
        async with asyncio.TaskGroup() as at_once:
            at_once.create_task(send(streamed, next(pieces)))
            at_once.create_task(asyncio.to_thread(cluster.restart, node))
        await in_sync(admin, topics)
    await send(streamed, next(pieces))
    await streamed.worked()
    alive = [worker.exit_code, sink.exit_code]
    await asyncio.to_thread(worker.stop)
    await streamed.finish(running)

    assert alive == [None, None], "they lived through all of it"
    kept = [value for topic in topics.sources for value in await log_of(cluster, topic)]
    assert {encode(event) for event in story} - set(kept) == set()
    await streamed.check()


def cut_up(story: Sequence[Event], count: int) -> list[Sequence[Event]]:
    """The story in so many pieces, in order."""
    size = -(-len(story) // count)
    return [story[at : at + size] for at in range(0, len(story), size)]


async def send(streamed: Streamed, piece: Sequence[Event]) -> None:
    """Send in order, each until it is acknowledged by two of three."""
    async with AIOKafkaProducer(bootstrap_servers=streamed.broker.bootstrap_servers, acks="all") as producer:
        async with asyncio.timeout(PATIENCE):
            for event in piece:
                topic = (
                    streamed.topics.watermarks if event.event_type.startswith("watermark.") else streamed.topics.runs
                )
                sent = await send_one(producer, topic, event)
                place = TopicPartition(sent.topic, sent.partition)
                streamed.events.setdefault(place, []).append((sent.offset, event.pipeline.encode()))
                streamed.ends[place] = sent.offset + 1
                streamed.story.append(event)


async def send_one(producer: AIOKafkaProducer, topic: str, event: Event) -> RecordMetadata:
    while True:
        try:
            return await producer.send_and_wait(topic, encode(event), key=event.pipeline.encode())
        except KafkaError:
            continue  # not acknowledged: it may be in the log or not


async def in_sync(admin: AIOKafkaAdminClient, topics: Topics) -> None:
    """Wait until every copy has caught up."""
    names = [spec.name for spec in topics.specs()]
    async with asyncio.timeout(PATIENCE):
        while any(
            len(partition["isr"]) < COPIES
            for topic in await admin.describe_topics(names)
            for partition in topic["partitions"]
        ):
            await asyncio.sleep(0.2)
