"""A broker behind the proxy: its answers to Produce get lost, so the client can't know what the log holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from network.kafka import PRODUCE, KafkaProxy
from network.logs import log_of
from watchline.schemas import Topics
from watchline.sdk import Pipeline, Watchline

pytestmark = pytest.mark.durable("it can't advertise the address of a proxy, and knows no idempotent producers")
PATIENCE = 30.0


async def test_a_client_that_came_by_the_proxy_stays_on_it(broker_proxy: KafkaProxy, topics: Topics) -> None:
    async with AIOKafkaProducer(bootstrap_servers=broker_proxy.address) as producer:
        await producer.send_and_wait(topics.runs, b"before", partition=0)
        made = broker_proxy.connections

        broker_proxy.cut()
        sending = asyncio.create_task(producer.send_and_wait(topics.runs, b"after", partition=0))
        async with asyncio.timeout(PATIENCE):
            while broker_proxy.connections == made:  # it comes back by the same door
                await asyncio.sleep(0.01)
        waited = not sending.done()
        broker_proxy.heal()

        await asyncio.wait_for(sending, PATIENCE)
    assert waited


@pytest.mark.parametrize(("idempotent", "copies"), [(True, 1), (False, 3)])
async def test_an_idempotent_producer_writes_once_where_another_repeats_itself(
    broker: Broker, broker_proxy: KafkaProxy, topics: Topics, idempotent: bool, copies: int
) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=broker_proxy.address, acks="all", enable_idempotence=idempotent
    ) as producer:
        await producer.send_and_wait(topics.runs, b"before", partition=0)  # a new topic refuses for a moment
        broker_proxy.drop_responses(PRODUCE, times=2)
        await asyncio.wait_for(producer.send_and_wait(topics.runs, b"once", partition=0), PATIENCE)

    assert broker_proxy.dropped == 2
    assert await log_of(broker, topics.runs) == [b"before"] + [b"once"] * copies


@pytest.mark.parametrize("idempotent", [True, False])
async def test_the_sdk_repeats_an_event_under_its_one_id_and_counts_it_once(
    broker: Broker, broker_proxy: KafkaProxy, topics: Topics, tmp_path: Path, idempotent: bool
) -> None:
    client = Watchline(
        broker_proxy.address,
        topic_prefix=topics.prefix,
        outbox_dir=tmp_path,
        idempotence=idempotent,
        handle_sigterm=False,
    )
    orders = client.pipeline(Pipeline(name="orders"))
    with orders.run():
        pass
    assert await asyncio.to_thread(client.flush, PATIENCE)

    broker_proxy.drop_responses(PRODUCE, times=2)
    with orders.run():
        pass
    assert await asyncio.to_thread(client.flush, PATIENCE)
    await asyncio.to_thread(client.close)

    counters = client.counters()
    sent = [value for topic in (topics.pipelines, topics.runs) for value in await log_of(broker, topic)]
    assert broker_proxy.dropped == 2
    assert counters.emitted == counters.acknowledged == len(set(sent)) == 5
    assert (len(sent) == 5) is idempotent
