"""A bad event from its producer to the dead letters and back, with a worker and a sink as they run in production."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from faults.invariants.tails import Tail
from letters.letters import Commands, Result, Store, of_bytes
from stack.contents import rows
from stack.services import Services, services
from stack.waiting import until
from watchline.schemas import RunEnded, Topics, encode

DEADLINE_SECONDS = 60.0
COMMAND = (sys.executable, "-m", "watchline.cli", "dead-letters")
DYING = (sys.executable, str(Path(__file__).with_name("redrive_and_die.py")))
PIPELINE = b"orders_daily"


def ended(run: UUID) -> bytes:
    """A run of 5 inserts that has just succeeded."""
    now = datetime.now(UTC)
    return encode(
        RunEnded(
            event_id=uuid4(), occurred_at=now, pipeline="orders_daily", run_id=run,
            status="succeeded", started_at=now, duration_ms=10, inserts=5,
        )
    )  # fmt: skip


async def test_a_bad_event_is_kept_and_one_that_is_valid_by_now_counts_once_however_often_it_is_redriven(
    tmp_path: Path,
    broker: Broker,
    topics: Topics,
    store: Store,
    call: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)
    refused, behind = uuid4(), uuid4()

    async def at(*arguments: str) -> Result:
        return await asyncio.to_thread(call, *arguments)

    async def send(value: bytes) -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            await producer.send_and_wait(topics.runs, value, key=PIPELINE, headers=[("trace", b"1")])

    async def stored(run: UUID) -> list[tuple[Any, ...]]:
        query = "select inserts, status, attempt, flags, stored_at, revision from runs where run_id = $1"
        return await rows(store.dsn, query, run)

    with services(tmp_path, broker.bootstrap_servers, store.dsn, topics) as running:
        running.start("streams")
        running.start("sink")
        await send(b'{"event_type": ')
        await until("the bad event is a dead letter", lambda: store.select("1"))
        [listed] = [json.loads(line) for line in (await at("list", "--format", "json")).out.splitlines()]

        # A version before this one did not know the event: its bytes are good, and the letter has them.
        place = {"source_topic": topics.runs, "source_partition": 0}
        event = ended(refused)
        [old_id] = await store.put(of_bytes(900, value=event, key=PIPELINE, reason="unsupported_version", **place))
        first = await at("redrive", "--all", "--reason", "unsupported_version", "--yes")
        await until("the redriven run is stored", lambda: stored(refused))
        before = await stored(refused)
        again = await at("redrive", str(old_id), "--again", "--yes")
        await send(ended(behind))
        await until("the run behind it is stored", lambda: stored(behind))
        after = await stored(refused)
        letters = await store.select("status, redriven_count, value")

    assert (listed["source_topic"], listed["key"], listed["value_bytes"]) == (topics.runs, "orders_daily", 15)
    assert (first.code, again.code) == (0, 0)
    assert before[0][:2] == (5, "succeeded")
    assert after == before
    assert letters == [("open", 0, b'{"event_type": '), ("redriven", 2, event)]


async def call_in_a_process(running: Services, command: tuple[str, ...], *arguments: str) -> int:
    """Run a command as an operator does, and return its exit code."""
    with (running.folder / "commands.log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            *command, *arguments, stdout=log, stderr=log, env=running.job_environment
        )
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await process.wait()


async def records_from(broker: Broker, topics: Topics, letter_id: int) -> int:
    """How many records in the log say that they are that letter."""
    header = ("watchline.redriven", str(letter_id).encode())
    tail = Tail(broker.bootstrap_servers, [topics.runs])
    return sum([header in record.headers async for _, records in tail.read() for record in records])


async def test_a_redrive_that_was_killed_before_its_mark_and_two_at_once_have_one_effect(
    tmp_path: Path, broker: Broker, topics: Topics, store: Store
) -> None:
    killed, twice, behind = uuid4(), uuid4(), uuid4()
    place: dict[str, Any] = {"source_topic": topics.runs, "source_partition": 0, "key": PIPELINE}

    async def stored(run: UUID) -> list[tuple[Any, ...]]:
        return await rows(
            store.dsn, "select inserts, status, flags, stored_at, revision from runs where run_id = $1", run
        )

    with services(tmp_path, broker.bootstrap_servers, store.dsn, topics) as running:
        running.start("streams")
        running.start("sink")
        first, second = await store.put(
            of_bytes(900, value=ended(killed), reason="one", **place),
            of_bytes(901, value=ended(twice), reason="two", **place),
        )
        died = await call_in_a_process(running, DYING, "redrive", str(first), "--yes")
        between = await store.select("status, redriven_count")
        await until("the run of the killed redrive is stored", lambda: stored(killed))
        before = await stored(killed)
        again = await call_in_a_process(running, COMMAND, "redrive", "--all", "--reason", "one", "--yes")
        both = await asyncio.gather(
            *[call_in_a_process(running, COMMAND, "redrive", str(second), "--yes") for _ in range(2)]
        )
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
            await producer.send_and_wait(topics.runs, ended(behind), key=PIPELINE)
        await until("the run behind them is stored", lambda: stored(behind))
        sent = [await records_from(broker, topics, letter) for letter in (first, second)]
        counts = await rows(store.dsn, "select count(*), sum(inserts) from runs")

    assert (died, again, sorted(both)) == (-signal.SIGKILL, 0, [0, 1])  # one of two finds it redriven
    assert between == [("open", 0), ("open", 0)]
    assert sent == [2, 1]
    assert await stored(killed) == before
    assert counts == [(3, 15)]
    assert await store.select("status, redriven_count") == [("redriven", 1), ("redriven", 1)]
