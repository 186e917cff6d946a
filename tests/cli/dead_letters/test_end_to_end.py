"""A bad event from its producer to the dead letters and back, with a worker and a sink as they run in production."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from letters.letters import Commands, Result, Store, of_bytes
from stack.contents import rows
from stack.services import services
from watchline.schemas import RunEnded, Topics, encode

DEADLINE_SECONDS = 60.0
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


async def until(what: str, condition: Callable[[], Awaitable[Any]]) -> None:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await condition():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {DEADLINE_SECONDS:g} s: {what}") from None


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
