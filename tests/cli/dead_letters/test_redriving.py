"""`watchline dead-letters redrive`: the bytes go back to where they came from, once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord

from brokers.kinds import Broker
from brokers.topics import delete_topics
from letters.letters import Commands, Result, Store, of_bytes
from sinking.records import after, ended, name_id
from sinking.services import produce, running, settings_for, until
from stack.contents import rows
from watchline.cli.dead_letters.redriving import redrive_letters
from watchline.cli.reach import kafka_admin
from watchline.schemas import PipelineDeclared, WatermarkAdvanced, encode
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics

ALL_BYTES = bytes(range(256))
DEADLINE_SECONDS = 30.0


@pytest.fixture
def at(broker: Broker, topics: Topics, call: Commands, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """`watchline dead-letters …` on the test's topics, from inside a running loop."""
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)

    async def run(*arguments: str, typed: str = "") -> Result:
        return await asyncio.to_thread(call, *arguments, typed=typed)

    return run


async def records_of(broker: Broker, topic: str, expected: int) -> list[ConsumerRecord[bytes, bytes]]:
    """What stands in the topic: at least as many as expected, and what comes right behind them."""
    found: list[ConsumerRecord[bytes, bytes]] = []
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                batches = await consumer.getmany(timeout_ms=300)
                if not batches and len(found) >= expected:
                    return found
                found += [record for batch in batches.values() for record in batch]


async def test_the_record_goes_back_byte_for_byte_and_names_its_letter(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    headers = (("trace", "AP8="), ("trace", "AQ=="), ("empty", None))
    [letter_id] = await store.put(
        of_bytes(value=ALL_BYTES, key=b"k\xff\x00", headers=headers, source_topic=topics.runs)
    )

    result = await at("redrive", str(letter_id), typed="y\n")

    [record] = await records_of(broker, topics.runs, 1)
    assert (record.key, record.value) == (b"k\xff\x00", ALL_BYTES)
    assert list(record.headers) == [
        ("trace", b"\x00\xff"), ("trace", b"\x01"), ("empty", None), ("watchline.redriven", str(letter_id).encode()),
    ]  # fmt: skip
    assert (result.code, result.out) == (0, f"{letter_id} {topics.runs}/{record.partition}@{record.offset}\n")
    assert f"Send 1 to {topics.runs}? [y/N] " in result.err
    [(status, count, by, timed)] = await store.select("status, redriven_count, redriven_by, redriven_at is not null")
    assert (status, count, timed, "@" in by) == ("redriven", 1, True, True)


async def test_the_same_key_goes_to_the_partition_of_its_pipeline(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    await store.put(*(of_bytes(n, source_topic=topics.runs, source_partition=n % 4, value=b"%d" % n) for n in range(6)))

    await at("redrive", "--all", "--yes")

    records = await records_of(broker, topics.runs, 6)
    assert len({record.partition for record in records}) == 1
    assert [record.value for record in records] == [b"%d" % n for n in range(6)]


async def test_a_second_redrive_is_refused_unless_asked_for_again(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    [letter_id] = await store.put(of_bytes(source_topic=topics.runs))
    await at("redrive", str(letter_id), "--yes")

    refused = await at("redrive", str(letter_id), "--yes")
    none = await at("redrive", "--all", "--yes")
    again = await at("redrive", str(letter_id), "--yes", "--again")

    assert (refused.code, refused.out) == (1, "")
    assert f"letter {letter_id} was redriven 20" in refused.err
    assert "--again" in refused.err
    assert (none.code, none.err) == (0, "to redrive: no dead letters\n")
    assert again.code == 0
    assert len(await records_of(broker, topics.runs, 2)) == 2
    assert await store.select("status, redriven_count") == [("redriven", 2)]


async def test_two_at_once_send_a_letter_once(broker: Broker, topics: Topics, store: Store) -> None:
    ids = await store.put(*(of_bytes(n, source_topic=topics.runs) for n in range(3)))
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)

    async def redrive(by: str) -> list[str]:
        sending = redrive_letters(store.dsn, kafka, topics, ids, again=False, by=by)
        return [outcome.left async for outcome in sending]

    left = await asyncio.gather(redrive("a@one"), redrive("b@two"))

    assert len(await records_of(broker, topics.runs, 3)) == 3
    assert sorted(bool(text) for each in left for text in each) == [False] * 3 + [True] * 3
    assert await store.select("redriven_count") == [(1,)] * 3


async def test_a_letter_that_must_not_be_sent_is_left_and_the_others_go(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    good, foreign, null, given_up = await store.put(
        of_bytes(1, source_topic=topics.runs),
        of_bytes(2, source_topic="somebody.elses"),
        of_bytes(3, source_topic=topics.pipelines, value=None),
        of_bytes(4, source_topic=topics.runs),
    )
    await at("discard", str(given_up), "--because", "x", "--yes")

    result = await at("redrive", *map(str, (good, foreign, null, given_up)), "--yes")

    assert result.code == 1
    assert result.out.startswith(f"{good} {topics.runs}/")
    assert (
        f"letter {foreign} came from somebody.elses, no topic of WATCHLINE_TOPIC_PREFIX={topics.prefix}" in result.err
    )
    assert f"letter {null} has a Kafka null" in result.err
    assert f"letter {given_up} was discarded" in result.err
    assert len(await records_of(broker, topics.runs, 1)) == 1
    assert await records_of(broker, topics.pipelines, 0) == []
    assert await store.select("status") == [("redriven",), ("open",), ("open",), ("discarded",)]


async def test_nothing_replaces_a_better_record_of_its_key_on_a_compacted_topic(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    def advanced(pipeline: str, *, hours: float, dataset: str | None = None) -> bytes:
        event = WatermarkAdvanced(
            event_id=uuid4(), occurred_at=after(hours=hours), pipeline=pipeline, watermark="7", dataset=dataset
        )
        return encode(event)

    await rows(
        store.dsn,
        "insert into watermarks (pipeline, dataset, kind, watermark, effective, effective_at, occurred_at, event_id, "
        "regressed, regressions, revision) values ('orders', '', 'text', '8', '8', $1, $1, gen_random_uuid(), "
        "false, 0, 1)",
        after(hours=-30),
    )
    bad, foreign, overtaken, newer, other = await store.put(
        of_bytes(1, source_topic=topics.watermarks),
        of_bytes(2, value=advanced("stock", hours=-24), source_topic=topics.watermarks),
        of_bytes(3, value=advanced("orders", hours=-31), source_topic=topics.watermarks),
        of_bytes(4, value=advanced("orders", hours=-29), source_topic=topics.watermarks),
        of_bytes(
            5,
            value=advanced("orders", hours=-31, dataset="daily"),
            key=b"orders\0daily",
            source_topic=topics.watermarks,
        ),
    )

    result = await at("redrive", "--all", "--yes")

    assert result.code == 1
    assert "5 of them belong to compacted topics" in result.err
    assert f"letter {bad} is still bad (invalid_json)" in result.err
    assert f"letter {foreign} has a key other than its pipeline" in result.err
    assert f"letter {overtaken} is overtaken" in result.err
    assert [int(line.split()[0]) for line in result.out.splitlines()] == [newer, other]
    assert len(await records_of(broker, topics.watermarks, 2)) == 2


async def test_an_older_declaration_does_not_replace_a_newer_one(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    event = PipelineDeclared(event_id=uuid4(), occurred_at=after(hours=-30), pipeline="orders")
    await rows(store.dsn, "insert into pipelines (pipeline, declared_at) values ('orders', $1)", after(hours=-29))
    [letter_id] = await store.put(of_bytes(value=encode(event), source_topic=topics.pipelines))

    result = await at("redrive", "--all", "--yes")

    assert f"letter {letter_id} is overtaken" in result.err
    assert await records_of(broker, topics.pipelines, 0) == []
    assert await store.select("status") == [("open",)]


async def test_a_dry_run_sends_nothing(at: Callable[..., Any], broker: Broker, topics: Topics, store: Store) -> None:
    await store.put(of_bytes(source_topic=topics.runs))

    result = await at("redrive", "--all", "--dry-run")

    assert result.code == 0
    assert "to redrive: 1 dead letter: 1 invalid_json" in result.err
    assert await records_of(broker, topics.runs, 0) == []
    assert await store.select("status") == [("open",)]


async def test_a_broker_that_is_away_leaves_the_letters_open(
    at: Callable[..., Any], topics: Topics, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put(of_bytes(source_topic=topics.runs))
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")

    result = await at("redrive", "--all", "--yes")

    assert result.code == 1
    assert "error: Kafka does not answer at 127.0.0.1:1" in result.err
    assert await store.select("status") == [("open",)]


async def is_gone(broker: Broker, topic: str) -> None:
    """Wait until the broker lists the topic no more: Kafka deletes in its own time."""
    async with kafka_admin(KafkaConnection(bootstrap_servers=broker.bootstrap_servers)) as admin:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while topic in await admin.list_topics():
                await asyncio.sleep(0.05)


async def test_a_topic_that_is_missing_is_not_made_by_sending(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    await store.put(of_bytes(source_topic=topics.runs))
    await delete_topics(broker.bootstrap_servers, [topics.runs])
    await is_gone(broker, topics.runs)

    result = await at("redrive", "--all", "--yes")

    assert result.code == 2
    assert f"error: topics are missing: {topics.runs}" in result.err
    assert await store.select("status") == [("open",)]


async def test_a_record_too_large_for_its_topic_is_left_and_the_next_goes(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    large, small = await store.put(
        of_bytes(1, source_topic=topics.runs, value=b"x" * 5_000_000), of_bytes(2, source_topic=topics.runs)
    )

    result = await at("redrive", "--all", "--yes")

    assert result.code == 1
    assert f"letter {large} is too large for {topics.runs}" in result.err
    assert result.out.startswith(f"{small} ")
    assert await store.select("status") == [("open",), ("redriven",)]


async def test_a_row_that_postgres_refused_is_stored_once_it_may_be_and_undoes_nothing_newer(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    """The letters of the sink go back to its own topic: the guard by revision keeps what is newer."""
    poison = [ended("alone", revision=2, inserts=-1), ended("overtaken", revision=2, inserts=-1)]
    connection = await asyncpg.connect(store.dsn)
    try:
        async with running(settings_for(broker, topics, store.dsn)):
            await produce(broker, topics, poison)
            await until(connection, "select count(*) from dead_letters", 2)
            await produce(broker, topics, [ended("overtaken", revision=3, inserts=5)])
            await until(connection, "select count(*) from runs", 1)
            await connection.execute("alter table runs drop constraint runs_inserts_check")

            result = await at("redrive", "--all", "--reason", "refused_by_database", "--yes")

            places = [line.split()[1].partition("/") for line in result.out.splitlines()]
            partition, _, offset = places[-1][2].partition("@")
            read = f"select next_offset from sink_offsets where topic = '{topics.state}' and partition = {partition}"
            await until(connection, read, int(offset) + 1)
        stored = {row["run_id"]: row["inserts"] for row in await connection.fetch("select run_id, inserts from runs")}
    finally:
        await connection.close()

    assert result.code == 0
    assert [topic for topic, _, _ in places] == [topics.state] * 2
    assert stored == {name_id("alone"): -1, name_id("overtaken"): 5}
    assert await store.select("status, redriven_count") == [("redriven", 1)] * 2


async def test_what_is_still_bad_comes_back_and_names_where_it_came_from(
    at: Callable[..., Any], broker: Broker, topics: Topics, store: Store
) -> None:
    connection = await asyncpg.connect(store.dsn)
    try:
        async with running(settings_for(broker, topics, store.dsn)):
            await produce(broker, topics, [b"{"])
            await until(connection, "select count(*) from dead_letters", 1)
            await at("redrive", "1", "--yes")
            await until(connection, "select count(*) from dead_letters", 2)
            [newest] = (await at("list", "--format", "json")).out.splitlines()
            second = json.loads(newest)["dead_letter_id"]
    finally:
        await connection.close()

    assert f"came back as  {second}\n" in (await at("show", "1")).out
    assert "redriven from 1\n" in (await at("show", str(second))).out
