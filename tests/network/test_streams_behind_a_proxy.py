"""A worker whose way to Kafka is harmed: what is stored in the end is what a plain fold says, each row once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from brokers.kinds import Broker
from faults.judged import undeclared_history
from faults.lives import QUICK
from faults.streamed import Streamed
from network.kafka import PRODUCE, KafkaProxy
from stack.services import Services, services
from watchline.cli.lag import committed_offsets
from watchline.cli.local.child import Child
from watchline.schemas import Topics

pytestmark = pytest.mark.durable("it can't advertise the address of a proxy")
PATIENCE = 60.0
COMMITS = 15  # of 0.2 s each


@pytest.mark.faults
async def test_what_a_worker_repeats_because_answers_were_lost_is_stored_once(
    tmp_path: Path, broker: Broker, broker_proxy: KafkaProxy, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        worker = await start_behind(broker_proxy, running)
        broker_proxy.drop_responses(PRODUCE, times=8)
        await streamed.send(undeclared_history())
        async with asyncio.timeout(PATIENCE):
            while broker_proxy.dropped < 8:
                await asyncio.sleep(0.05)
        await asyncio.to_thread(worker.stop)
        await streamed.check_commits()
        await streamed.finish(running)

    assert worker.exit_code == 0
    await streamed.check()


@pytest.mark.faults
async def test_no_offset_is_committed_while_the_changelog_is_out_of_reach(
    tmp_path: Path, broker: Broker, broker_proxy: KafkaProxy, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        worker = await start_behind(broker_proxy, running)
        broker_proxy.block(PRODUCE, topics.changelog("runs").encode())
        await streamed.send(undeclared_history())
        async with asyncio.timeout(PATIENCE):
            while not broker_proxy.held:
                await asyncio.sleep(0.05)
        for _ in range(COMMITS):
            await asyncio.sleep(0.2)
            await streamed.check_commits()
        committed = await committed_offsets(streamed.kafka, topics.application, streamed.ends)
        worker.kill()
        broker_proxy.cut()  # what it had sent is lost with it
        await streamed.finish(running)

    assert sum(committed.values()) < sum(streamed.ends.values()) / 2, "nothing was held back"
    await streamed.check()


async def start_behind(proxy: KafkaProxy, running: Services) -> Child:
    """A worker by way of the proxy, which lives in the loop of the test: so not in its thread."""
    return await asyncio.to_thread(running.start, "streams", WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=proxy.address)
