"""What is committed, and what a rebalance repeats."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP, ConsumerMessage

from streams.transport.memory import MemoryBroker, source, table, until  # noqa: TID251 - the folder of these tests

EVENTS = TP("events", 0)


def listen(app: Any, seen: Counter[int]) -> None:
    """An agent that counts offsets of partition 0, with what both kinds of stream offer."""

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def count(stream: Any) -> None:
        async for events in stream.take_events(10, within=0.01):
            seen.update(event.message.offset for event in events)


@pytest.mark.parametrize(("stock", "repeated"), [(True, 40), (False, 0)])
async def test_a_rebalance_repeats_nothing_that_was_finished(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, repeated: int
) -> None:
    seen: Counter[int] = Counter()
    app = make(stock=stock, commit_interval=600.0)
    listen(app, seen)
    for _ in range(40):
        memory.append("events", 0, b"k", b"v")
    await app.start()
    await until(lambda: sum(seen.values()) == 40)
    await until(lambda: not app.consumer.unacked)

    await memory.rebalance("watched")
    await until(lambda: not app.rebalancing)
    memory.append("events", 0, b"k", b"v")
    await until(lambda: seen[40] == 1)

    assert sum(count - 1 for count in seen.values()) == repeated


@pytest.mark.parametrize(("stock", "committed"), [(True, 12), (False, None)])
async def test_nothing_is_committed_past_a_message_in_hand(
    make: Callable[..., Any], stock: bool, committed: int | None
) -> None:
    app = make(stock=stock)
    consumer = app.consumer
    app.topics._acking_topics.add("events")
    messages = [ConsumerMessage("events", 0, n, 0.0, 0, None, None, b"", None, tp=EVENTS) for n in range(12)]
    for message in messages:
        consumer.track_message(message)

    consumer.ack(messages[11])

    assert consumer._new_offset(EVENTS) == committed


async def test_what_was_held_back_is_committed_once_the_message_in_hand_is_done(make: Callable[..., Any]) -> None:
    app = make()
    consumer = app.consumer
    app.topics._acking_topics.add("events")
    messages = [ConsumerMessage("events", 0, n, 0.0, 0, None, None, b"", None, tp=EVENTS) for n in range(3)]
    for message in messages:
        consumer.track_message(message)
    consumer.ack(messages[1])
    consumer.ack(messages[2])
    assert consumer._new_offset(EVENTS) is None

    consumer.ack(messages[0])

    assert consumer._new_offset(EVENTS) == 3


async def test_a_batch_given_up_in_a_rebalance_is_read_again(
    memory: MemoryBroker, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchline.streams.transport.offsets.SETTLE_SECONDS", 0.3)
    seen: list[int] = []
    app = make(commit_interval=600.0)
    rows = table(app)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def give_up_when_lost(stream: Any) -> None:
        async for events in stream.take_events(10):
            seen.append(events[0].message.offset)
            if len(seen) == 1:
                await until(lambda: not rows.owned())

    memory.append("events", 0, b"k", b"v")
    await app.start()
    await until(lambda: len(seen) == 1)
    await memory.rebalance("watched")
    await until(lambda: len(seen) == 2)

    assert seen == [0, 0]


async def test_a_batch_that_ends_after_its_generation_commits_nothing(make: Callable[..., Any]) -> None:
    app = make()
    message = ConsumerMessage("events", 0, 7, 0.0, 0, None, None, b"", None, tp=EVENTS, generation_id=1)
    event = app.create_event(b"k", b"v", None, message)
    app.consumer_generation_id = 1
    app.consumer.moving = False
    marker = app.consumer.begin([event])

    app.consumer_generation_id = 2
    app.consumer.finish([event], marker)

    assert app.consumer.finished == {}
    assert not app.consumer.unacked


async def test_a_rebalance_waits_for_the_batch_in_hand(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    started, may_end = asyncio.Event(), asyncio.Event()
    app = make(commit_interval=600.0)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def hold(stream: Any) -> None:
        async for _ in stream.take_events(10):
            started.set()
            await may_end.wait()

    rows = table(app)
    memory.append("events", 0, b"k", b"v")
    await app.start()
    await started.wait()

    moving = asyncio.create_task(memory.rebalance("watched"))
    done, _ = await asyncio.wait([moving], timeout=1.0)
    ours = rows.owned()
    may_end.set()
    await moving

    assert not done
    assert ours == {0, 1, 2, 3}
    assert memory.group("watched").committed[EVENTS] == 1
