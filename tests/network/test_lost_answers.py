"""A broker behind the proxy: its answers to Produce get lost, so the client can't know what the log holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from brokers.apache import ApacheBroker
from brokers.kinds import Broker
from network.kafka import PRODUCE, KafkaProxy, behind
from watchline.schemas import Topics
from watchline.sdk import Pipeline, Watchline

pytestmark = pytest.mark.durable("it can't advertise the address of a proxy, and knows no idempotent producers")
PATIENCE = 30.0


@pytest.fixture
async def proxy(broker: Broker) -> AsyncIterator[KafkaProxy]:
    if not isinstance(broker, ApacheBroker):
        pytest.skip("only Apache Kafka from its jars advertises the address of a proxy")
    async with behind(broker) as started:
        yield started


async def log_of(broker: Broker, topic: str) -> list[bytes]:
    """All values of a topic, read past the proxy."""
    values: list[bytes] = []
    async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, fetch_max_wait_ms=20) as consumer:
        places = [TopicPartition(topic, number) for number in range(4)]
        consumer.assign(places)
        await consumer.seek_to_beginning()
        ends = sum((await consumer.end_offsets(places)).values())
        async with asyncio.timeout(PATIENCE):
            while len(values) < ends:
                for records in (await consumer.getmany(timeout_ms=100)).values():
                    values += [record.value for record in records]
    return values


async def test_a_client_that_came_by_the_proxy_stays_on_it(proxy: KafkaProxy, topics: Topics) -> None:
    async with AIOKafkaProducer(bootstrap_servers=proxy.address, request_timeout_ms=500) as producer:
        await producer.send_and_wait(topics.runs, b"1", partition=0)

        proxy.cut()
        with pytest.raises(KafkaError):
            await producer.send_and_wait(topics.runs, b"2", partition=0)
        proxy.heal()

        await producer.send_and_wait(topics.runs, b"3", partition=0)


@pytest.mark.parametrize(("idempotent", "copies"), [(True, 1), (False, 3)])
async def test_an_idempotent_producer_writes_once_where_another_repeats_itself(
    broker: Broker, proxy: KafkaProxy, topics: Topics, idempotent: bool, copies: int
) -> None:
    async with AIOKafkaProducer(bootstrap_servers=proxy.address, acks="all", enable_idempotence=idempotent) as producer:
        await producer.send_and_wait(topics.runs, b"before", partition=0)  # a new topic refuses for a moment
        proxy.drop_responses(PRODUCE, times=2)
        await asyncio.wait_for(producer.send_and_wait(topics.runs, b"once", partition=0), PATIENCE)

    assert proxy.dropped == 2
    assert await log_of(broker, topics.runs) == [b"before"] + [b"once"] * copies


@pytest.mark.parametrize("idempotent", [True, False])
async def test_the_sdk_repeats_an_event_under_its_one_id_and_counts_it_once(
    broker: Broker, proxy: KafkaProxy, topics: Topics, tmp_path: Path, idempotent: bool
) -> None:
    client = Watchline(
        proxy.address, topic_prefix=topics.prefix, outbox_dir=tmp_path, idempotence=idempotent, handle_sigterm=False
    )
    orders = client.pipeline(Pipeline(name="orders"))
    with orders.run():
        pass
    assert await asyncio.to_thread(client.flush, PATIENCE)

    proxy.drop_responses(PRODUCE, times=2)
    with orders.run():
        pass
    assert await asyncio.to_thread(client.flush, PATIENCE)
    await asyncio.to_thread(client.close)

    counters = client.counters()
    sent = [value for topic in (topics.pipelines, topics.runs) for value in await log_of(broker, topic)]
    assert proxy.dropped == 2
    assert counters.emitted == counters.acknowledged == len(set(sent)) == 5
    assert (len(sent) == 5) is idempotent
