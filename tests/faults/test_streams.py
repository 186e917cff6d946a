"""A worker dies at each of its failpoints, three times in one log: nothing is lost and nothing counts twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from brokers.kinds import Broker
from faults.judged import LETTER_ROWS, LetterRow, undeclared_history
from faults.lives import QUICK, Offsets, behind, die, died, points
from stack.contents import assert_equal, rows
from stack.oracle import expect
from stack.services import Services, services
from watchline.cli.lag import committed_offsets, end_offsets, stored_offsets
from watchline.consumers.database import connect
from watchline.schemas import Event, KafkaConnection, Topics, encode

BAD = b'{"event_type": \x00\xff'
EVERY = 10  # a bad record behind so many good ones, so that most batches have one
POINTS = {
    "F1": ("F1:kill:1", "F1:kill:2", "F1:kill:12"),
    "F2": ("F2:kill:1", "F2:kill:2", "F2:kill:12"),
    "F3": ("F3:kill:1", "F3:kill:2", "F3:kill:12"),
    "F4": ("F4:kill:1", "F4:kill:2", "F4:kill:12"),
    "F5": ("F5:kill:1,F1:sleep:0.05", "F5:kill:2,F1:sleep:0.05", "F5:kill:4,F1:sleep:0.05"),
    "F6": ("F6:kill:1,F1:sleep:0.05", "F6:kill:2,F1:sleep:0.05", "F6:kill:4,F1:sleep:0.05"),
    "F7": ("F3:kill:12", "F7:kill:1", "F7:kill:2", "F7:kill:3"),  # the first leaves something to recover
    "F9": ("F9:kill:1,F1:sleep:0.05", "F9:kill:2,F1:sleep:0.05", "F9:kill:5,F1:sleep:0.05"),
    "D1": ("D1:kill:1", "D1:kill:2", "D1:kill:8"),
    "D2": ("D2:kill:1", "D2:kill:2", "D2:kill:8"),
    "D3": ("D3:kill:1", "D3:kill:2", "D3:kill:8"),
}


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.parametrize("point", points(POINTS, always="F3"))
async def test_a_worker_that_dies_at_its_first_second_and_a_late_pass_of(
    point: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    story = undeclared_history()
    ends, letters = await send(broker, topics, story)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        for failpoint in POINTS[point]:
            await die(running, "streams", failpoint)
        await finish(running, broker, topics, database, ends)

    await check(database, story, letters)
    await check_changelog(broker, topics)


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.faults
async def test_a_worker_that_dies_while_the_group_takes_its_partitions_away(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    story = undeclared_history()
    ends, letters = await send(broker, topics, story)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        await die(running, "streams", "F8:kill:1")
        for number in (2, 3):
            dying = running.start("streams", WATCHLINE_FAILPOINT=f"F8:kill:{number},F1:sleep:0.05")
            companion = running.start("streams")  # the second pass of the other
            if number == 3:
                companion.stop()  # its third
            await died(dying, f"F8:kill:{number}")
            companion.stop()
        await finish(running, broker, topics, database, ends)

    await check(database, story, letters)
    await check_changelog(broker, topics)


@pytest.mark.durable("the same checks as above need true offsets")
@pytest.mark.faults
async def test_a_worker_outlives_a_failure_at_each_step_of_a_batch(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    story = undeclared_history()
    ends, letters = await send(broker, topics, story)
    steps = ("F9", "F1", "F2", "F3", "F4", "D1", "D2", "D3")
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK) as running:
        running.launch("sink")
        failures = ",".join(f"{step}:raise:{number}" for number, step in enumerate(steps, start=2))
        await finish(running, broker, topics, database, ends, WATCHLINE_FAILPOINT=failures)
        said = running.running[-1].log.read_text()

    assert [step for step in steps if f"{step}, pass" not in said] == []
    await check(database, story, letters)
    await check_changelog(broker, topics)


def own_key(event: Event) -> bytes:
    return event.pipeline.encode()


async def send(
    broker: Broker, topics: Topics, story: Sequence[Event], *, key_of: Callable[[Event], bytes] = own_key
) -> tuple[Offsets, list[LetterRow]]:
    """Write all events with bad records in between; where the log ends, and the dead letters that must come."""
    ends: dict[TopicPartition, int] = {}
    letters: list[LetterRow] = []
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all", linger_ms=1) as producer:
        for number, event in enumerate(story):
            key, topic = key_of(event), topic_of(topics, event)
            sent = await producer.send_and_wait(topic, encode(event), key=key)
            if number % EVERY == 0:
                sent = await producer.send_and_wait(topic, BAD, key=key)
                letters.append((sent.topic, sent.partition, sent.offset, "invalid_utf8", key, BAD))
            ends[TopicPartition(sent.topic, sent.partition)] = sent.offset + 1
    return ends, sorted(letters)


def topic_of(topics: Topics, event: Event) -> str:
    return topics.watermarks if event.event_type.startswith("watermark.") else topics.runs


async def finish(running: Services, broker: Broker, topics: Topics, dsn: str, ends: Offsets, **more: str) -> None:
    """A worker that nobody kills reads to the end and stops; then the sink stores all that was said."""
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    worker = running.start("streams", **more)
    async with asyncio.timeout(60):
        while behind(await committed_offsets(kafka, topics.application, ends), ends):
            await asyncio.sleep(0.1)
    worker.stop(seconds=20)
    assert worker.exit_code == 0
    outputs = await end_offsets(kafka, topics.outputs)
    connection = await connect(dsn, application="test")
    try:
        async with asyncio.timeout(60):
            while behind(await stored_offsets(connection, 0), outputs):
                await asyncio.sleep(0.1)
    finally:
        await connection.close()


async def check(dsn: str, story: Sequence[Event], letters: list[LetterRow]) -> None:
    """The rows of the oracle and every dead letter, with its bytes, key and place: each exactly once."""
    await assert_equal(dsn, expect(story, now=datetime.now(UTC)))
    assert sorted(await rows(dsn, LETTER_ROWS)) == letters


async def check_changelog(broker: Broker, topics: Topics) -> None:
    """A pipeline's row stands in one partition of the changelog: that of its events."""
    name = topics.changelog("runs")
    events = await partitions_of_keys(broker, topics.runs)
    rows_of = await partitions_of_keys(broker, name)

    assert rows_of == {key: places for key, places in events.items() if key in rows_of}
    assert all(len(places) == 1 for places in rows_of.values())
    assert rows_of.keys() == events.keys() - {None}


async def partitions_of_keys(broker: Broker, topic: str) -> dict[bytes | None, set[int]]:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    ends = await end_offsets(kafka, [topic])
    found: dict[bytes | None, set[int]] = {}
    consumer = AIOKafkaConsumer(bootstrap_servers=broker.bootstrap_servers, group_id=None)
    await consumer.start()
    try:
        consumer.assign(list(ends))
        await consumer.seek_to_beginning(*ends)
        async with asyncio.timeout(30):
            while behind({place: await consumer.position(place) for place in ends}, ends):
                for place, records in (await consumer.getmany(timeout_ms=200)).items():
                    for record in records:
                        found.setdefault(record.key, set()).add(place.partition)
    finally:
        await consumer.stop()
    return found
