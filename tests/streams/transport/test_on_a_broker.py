"""The transport on a real broker: topics, crashes, joins and leaves, with exact counts."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from faust.contrib.asgi import faust_app_running
from faust.types import TP

from brokers.kinds import Broker
from streams.transport.counting import Count, count_events  # noqa: TID251 - the folder of these tests
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.topics import Topics
from watchline.streams.topics import check_topics, create_topics, leader_topic
from watchline.streams.transport import make_app

PARTITIONS = 4
TESTS = Path(__file__).parents[2]
Start = Callable[[], Awaitable[asyncio.subprocess.Process]]


@pytest.fixture
def kafka(broker: Broker) -> KafkaConnection:
    return KafkaConnection(bootstrap_servers=broker.bootstrap_servers)


async def test_topics_that_were_made_pass_the_check(kafka: KafkaConnection, topics: Topics) -> None:
    fresh = Topics(f"{topics.prefix}-fresh")

    before = await check_topics(kafka, fresh, partitions=3)
    made = await create_topics(kafka, fresh, partitions=3, replication_factor=1)
    again = await create_topics(kafka, fresh, partitions=3, replication_factor=1)

    assert f"topic {fresh.runs} is missing" in before
    assert made == sorted([*(spec.name for spec in fresh.specs()), leader_topic(fresh)])
    assert again == []
    assert await check_topics(kafka, fresh, partitions=3) == []


async def test_another_partition_count_is_a_problem_with_a_name(kafka: KafkaConnection, topics: Topics) -> None:
    problems = await check_topics(kafka, topics, partitions=PARTITIONS + 1)

    assert f"topic {topics.runs} has {PARTITIONS} partitions instead of {PARTITIONS + 1}" in problems


@pytest.mark.durable("the embedded broker does not refuse a replication factor that it can't keep")
async def test_a_topic_that_the_broker_refuses_is_named(kafka: KafkaConnection, topics: Topics) -> None:
    fresh = Topics(f"{topics.prefix}-fresh")

    with pytest.raises(Misconfigured, match=fresh.prefix):
        await create_topics(kafka, fresh, partitions=3, replication_factor=9)


async def test_a_wrong_address_is_named_within_seconds() -> None:
    kafka = KafkaConnection(bootstrap_servers="127.0.0.1:1")

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        await check_topics(kafka, Topics(), partitions=PARTITIONS)


@pytest.fixture
async def start(broker: Broker, topics: Topics, tmp_path: Path) -> AsyncIterator[Start]:
    """Start a worker process and wait until it has its partitions; whatever still runs is killed at the end."""
    started: list[asyncio.subprocess.Process] = []

    async def start_one() -> asyncio.subprocess.Process:
        folder = tmp_path / str(len(started))
        arguments = [broker.bootstrap_servers, topics.prefix, str(PARTITIONS), str(folder)]
        with (tmp_path / f"{len(started)}.log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "streams.transport.worker",
                *arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
                cwd=tmp_path,
            )
        started.append(process)
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        assert line == b"ready\n", (tmp_path / f"{len(started) - 1}.log").read_text()[-3000:]
        return process

    yield start_one
    for process in started:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def stop(process: asyncio.subprocess.Process) -> None:
    """Ask a worker to leave, and wait until it has."""
    assert process.stdin is not None
    process.stdin.close()
    assert await asyncio.wait_for(process.wait(), 30) == 0


async def produce(broker: Broker, topics: Topics, events: int, *, seconds: float = 0.0) -> Counter[bytes]:
    """Send events of 40 keys, spread over `seconds`, and say how many of each."""
    truth: Counter[bytes] = Counter()
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, linger_ms=5) as producer:
        for number in range(events):
            key = b"pipeline-%d" % (number * 7 % 40)
            truth[key] += 1
            await producer.send(topics.runs, b"{}", key=key)
            if seconds and number % 50 == 0:
                await asyncio.sleep(seconds * 50 / events)
        await producer.flush()
    return truth


async def wait_for_counts(broker: Broker, topics: Topics, truth: Counter[bytes], seconds: float = 60.0) -> None:
    """Read the changelog until it says what was sent, and then to its end: nothing may be counted twice."""
    name = topics.changelog("runs")
    counts: dict[bytes, int] = {}
    reader = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, fetch_max_wait_ms=20)
    async with reader:
        reader.assign([TopicPartition(name, number) for number in range(PARTITIONS)])
        await reader.seek_to_beginning()
        deadline = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < deadline:
            chunks = await reader.getmany(timeout_ms=1500)
            for chunk in chunks.values():
                counts.update((record.key, Count.decode(record.value).events) for record in chunk)
            if not chunks and sum(counts.values()) >= truth.total():
                break
    assert counts == truth


async def test_a_worker_that_was_killed_loses_and_repeats_nothing(broker: Broker, topics: Topics, start: Start) -> None:
    first = await start()
    truth = await produce(broker, topics, 3000)
    first.kill()  # in the middle of it, most of the time
    await first.wait()
    truth += await produce(broker, topics, 500)

    await start()

    await wait_for_counts(broker, topics, truth)


@pytest.mark.parametrize(
    "ours_follows",
    [True, pytest.param(False, marks=pytest.mark.durable("the embedded broker reports an end that is too low"))],
)
async def test_a_row_that_another_wrote_late_is_followed_by_the_newest_one(
    kafka: KafkaConnection, topics: Topics, tmp_path: Path, ours_follows: bool
) -> None:
    app = make_app(
        app_id=topics.application, kafka=kafka, partitions=PARTITIONS, session_timeout=6.0, rebalance_timeout=6.0,
        data_dir=tmp_path,
    )  # fmt: skip
    rows = count_events(app, topics.runs, partitions=PARTITIONS)
    rows.age_of = lambda row: Count.decode(row).absorbed
    newest, late = Count(7, 7).encode(), Count(3, 3).encode()
    async with faust_app_running(app):
        async with asyncio.timeout(30):
            while app.rebalancing or not rows.owned():
                await asyncio.sleep(0.05)
        await asyncio.gather(*await rows.put_many({1: {b"a": newest}}))
        async with AIOKafkaProducer(**kafka.client_arguments()) as sleeper:
            await sleeper.send_and_wait(topics.changelog("runs"), late, key=b"a", partition=1)
        if ours_follows:
            await asyncio.gather(*await rows.put_many({1: {b"b": newest}}))
        await rows.healer.look()
        reader: Any = app.consumer
        changelog = TP(topics.changelog("runs"), 1)
        found = [pair async for chunk in reader.read_range(changelog, range(3 + ours_follows)) for pair in chunk]

    assert found == [(b"a", newest), (b"a", late), *[(b"b", newest)] * ours_follows, (b"a", newest)]


@pytest.mark.durable("workers that move partitions depend on true end offsets")
async def test_a_second_worker_may_come_and_go_while_events_flow(broker: Broker, topics: Topics, start: Start) -> None:
    first = await start()
    producing = asyncio.create_task(produce(broker, topics, 6000, seconds=14.0))

    second = await start()
    await asyncio.sleep(1.0)
    await stop(second)
    third = await start()
    third.kill()
    await third.wait()
    truth = await producing

    await wait_for_counts(broker, topics, truth)
    await stop(first)
