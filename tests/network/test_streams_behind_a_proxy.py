"""A worker whose way to Kafka is harmed: what is stored in the end is what a plain fold says, each row once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from brokers.kinds import Broker
from faults.judged import undeclared_history
from faults.lives import QUICK
from faults.test_streams import check, check_changelog, finish, send
from network.kafka import PRODUCE, KafkaProxy
from stack.services import services
from watchline.cli.lag import committed_offsets
from watchline.schemas import KafkaConnection, Topics

pytestmark = pytest.mark.durable("it can't advertise the address of a proxy")
PATIENCE = 60.0
COMMITS = 15  # of 0.2 s each


@pytest.mark.faults
async def test_what_a_worker_repeats_because_answers_were_lost_is_stored_once(
    tmp_path: Path, broker: Broker, broker_proxy: KafkaProxy, topics: Topics, database: str
) -> None:
    story = undeclared_history()
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        worker = await asyncio.to_thread(
            running.start, "streams", WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=broker_proxy.address
        )
        broker_proxy.drop_responses(PRODUCE, times=8)
        ends, letters = await send(broker, topics, story)
        async with asyncio.timeout(PATIENCE):
            while broker_proxy.dropped < 8:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(worker.stop)
        await finish(running, broker, topics, database, ends)

    await check(database, story, letters)
    await check_changelog(broker, topics)


@pytest.mark.faults
async def test_no_offset_is_committed_while_the_changelog_is_out_of_reach(
    tmp_path: Path, broker: Broker, broker_proxy: KafkaProxy, topics: Topics, database: str
) -> None:
    story, kafka = undeclared_history(), KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        worker = await asyncio.to_thread(
            running.start, "streams", WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=broker_proxy.address
        )
        broker_proxy.block(PRODUCE, topics.changelog("runs").encode())
        ends, letters = await send(broker, topics, story)
        async with asyncio.timeout(PATIENCE):
            while not broker_proxy.held:
                await asyncio.sleep(0.05)
        before = await committed_offsets(kafka, topics.application, ends)
        for _ in range(COMMITS):
            await asyncio.sleep(0.2)
            assert await committed_offsets(kafka, topics.application, ends) == before
        worker.kill()
        broker_proxy.cut()  # what it had sent is lost with it
        await finish(running, broker, topics, database, ends)

    assert sum(before.values()) < sum(ends.values()) / 2
    await check(database, story, letters)
    await check_changelog(broker, topics)
