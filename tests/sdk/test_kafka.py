"""The SDK against a real broker: what arrives, where, and what is read back."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from brokers.kinds import Broker
from watchline.schemas import Topics, WatermarkUnavailable
from watchline.sdk import Pipeline, Watchline

RunJob = Callable[..., Any]
PATIENT = 30.0
QUIET_MS = 500


async def read_all(broker: Broker, topic: str) -> list[tuple[int, str, dict[str, Any]]]:
    """Partition, key and event of every record of a topic."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", fetch_max_wait_ms=20
    )
    await consumer.start()
    try:
        partitions = [TopicPartition(topic, n) for n in consumer.partitions_for_topic(topic) or ()] or [
            TopicPartition(topic, n) for n in range(4)
        ]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        found = []
        while batch := await consumer.getmany(timeout_ms=QUIET_MS):
            for place, records in batch.items():
                found += [(place.partition, record.key.decode(), json.loads(record.value)) for record in records]
        return found
    finally:
        await consumer.stop()


def segments(outbox_dir: Path) -> list[Path]:
    return list(outbox_dir.rglob("*.jsonl"))


@contextmanager
def connected(broker: Broker, topics: Topics, tmp_path: Path, **settings: Any) -> Iterator[Watchline]:
    client = Watchline(
        broker.bootstrap_servers, topic_prefix=topics.prefix, outbox_dir=tmp_path, handle_sigterm=False, **settings
    )
    try:
        yield client
    finally:
        client.close()


async def test_the_events_of_a_run_arrive_in_order_under_their_key(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    with connected(broker, topics, tmp_path) as client:
        for number in range(20):
            with client.pipeline(Pipeline(name=f"órders-{number % 3}")).run() as run:
                run.add(inserts=number)
                run.advance(number)
        assert await asyncio.to_thread(client.flush, PATIENT)
        counters = client.counters()

    declared, runs, marks = [await read_all(broker, topic) for topic in topics.sources]
    assert counters.emitted == counters.acknowledged == len(declared) + len(runs) + len(marks) == 63
    for name in ("órders-0", "órders-1", "órders-2"):
        own = [(partition, event) for partition, key, event in runs if key == name]
        assert len({partition for partition, _ in own}) == 1
        assert [event["event_type"] for _, event in own] == ["run.started", "run.ended"] * (len(own) // 2)
        assert {partition for partition, key, _ in declared + marks if key == name} == {own[0][0]}


async def test_a_run_sees_the_watermark_of_the_one_before_in_another_process(
    broker: Broker, topics: Topics, run_job: RunJob
) -> None:
    code = """
from watchline.sdk import Pipeline, Watchline
orders = Watchline().pipeline(Pipeline(name="orders", default_watermark="0", watermark_kind="integer"))
with orders.run() as run:
    print(run.watermark)
    run.advance(int(run.watermark) + 1)
"""
    variables = {"kafka_bootstrap_servers": broker.bootstrap_servers, "topic_prefix": topics.prefix}

    done = [await asyncio.to_thread(lambda: run_job(code, **variables)) for _ in range(3)]

    assert [job.stdout for job in done] == ["0\n", "1\n", "2\n"]
    assert [job.stderr for job in done] == [""] * 3


async def test_the_newest_of_many_watermarks_is_read(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    with connected(broker, topics, tmp_path) as client:
        orders = client.pipeline(Pipeline(name="orders"))
        for number in range(500):
            with orders.run() as run:
                run.advance(f"page {number}")

        with orders.run() as run:
            assert await run.read_watermark() == "page 499"


async def test_datasets_have_keys_of_their_own_beside_their_pipeline(
    broker: Broker, topics: Topics, tmp_path: Path
) -> None:
    with connected(broker, topics, tmp_path) as client:
        for name in ("orders", "stock", "sales"):
            with client.pipeline(Pipeline(name=name)).run() as run:
                run.advance("own")
                run.advance("of the lake", dataset="lake")

        found = [client.read_watermark("orders"), client.read_watermark("orders", "lake")]

    marks = await read_all(broker, topics.watermarks)
    assert found == ["own", "of the lake"]
    assert {key for _, key, _ in marks} >= {"orders", "orders\0lake"}
    for name in ("orders", "stock", "sales"):
        assert len({partition for partition, key, _ in marks if key.split("\0")[0] == name}) == 1


async def test_what_a_job_left_without_kafka_the_next_one_sends_with_the_same_ids(
    broker: Broker, topics: Topics, run_job: RunJob, outbox_dir: Path
) -> None:
    code = """
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="orders")).run() as run:
    run.advance("x")
print(run.id)
"""
    lost = await asyncio.to_thread(lambda: run_job(code, topic_prefix=topics.prefix))
    waiting = segments(outbox_dir)

    sent = await asyncio.to_thread(
        lambda: run_job(code, topic_prefix=topics.prefix, kafka_bootstrap_servers=broker.bootstrap_servers)
    )

    runs = [event for _, _, event in await read_all(broker, topics.runs)]
    assert len(waiting) == 1
    assert segments(outbox_dir) == []
    assert [event["run_id"] for event in runs] == [lost.stdout.strip()] * 2 + [sent.stdout.strip()] * 2
    assert len({event["event_id"] for event in runs}) == 4


async def test_several_jobs_at_once_send_the_outbox_once(
    broker: Broker, topics: Topics, run_job: RunJob, start_job: Callable[..., Any]
) -> None:
    code = """
from watchline.sdk import Pipeline, Watchline
client = Watchline()
for number in range(30):
    with client.pipeline(Pipeline(name=f"p{number}")).run():
        pass
"""
    await asyncio.to_thread(lambda: run_job(code, topic_prefix=topics.prefix))
    variables = {"topic_prefix": topics.prefix, "kafka_bootstrap_servers": broker.bootstrap_servers}
    children = [start_job("from watchline.sdk import Pipeline, Watchline\n" + code, **variables) for _ in range(3)]

    codes = [await asyncio.to_thread(child.wait, PATIENT) for child in children]

    runs = [event for _, _, event in await read_all(broker, topics.runs)]
    assert codes == [0, 0, 0]
    assert len(runs) == len({event["event_id"] for event in runs}) == 4 * 60


async def test_a_long_run_shows_that_it_is_alive(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    with connected(broker, topics, tmp_path, heartbeat_seconds=0.1) as client:
        with client.pipeline(Pipeline(name="orders")).run() as run:
            run.add(inserts=5)
            deadline = time.monotonic() + PATIENT
            while client.counters().emitted < 4 and time.monotonic() < deadline:
                threading.Event().wait(0.02)
        assert await asyncio.to_thread(client.flush, PATIENT)

    runs = [event for _, _, event in await read_all(broker, topics.runs)]
    beats = [event for event in runs if event["event_type"] == "run.heartbeat"]
    assert runs[0]["heartbeat_seconds"] == 0.1
    assert len(beats) >= 2
    assert beats[-1]["inserts"] == 5
    assert runs[-1]["event_type"] == "run.ended"


@pytest.mark.durable("it makes a topic when somebody asks for it")
async def test_a_topic_that_is_missing_is_said_and_not_guessed(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    missing = Topics(prefix=f"{topics.prefix}-none")

    with (
        connected(broker, missing, tmp_path, watermark_seconds=1.0, flush_seconds=0.5) as client,
        client.pipeline(Pipeline(name="orders", default_watermark="0")).run() as run,
        pytest.raises(WatermarkUnavailable),
    ):
        await run.read_watermark()


async def test_foreign_records_under_the_same_key_do_no_harm(broker: Broker, topics: Topics, tmp_path: Path) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    await producer.start()
    for value in (b"\xff", b"{}", b'{"event_type": "watermark.advanced", "pipeline": "orders", "watermark": 5}'):
        await producer.send_and_wait(topics.watermarks, value, b"orders")
    await producer.stop()

    with (
        connected(broker, topics, tmp_path) as client,
        client.pipeline(Pipeline(name="orders", default_watermark="0")).run() as run,
    ):
        assert await run.read_watermark() == "0"
