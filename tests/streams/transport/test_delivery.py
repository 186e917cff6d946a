"""Chunks go to the queue at once, in order, and only if they belong to the present."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP

from streams.transport.memory import (  # noqa: TID251 - the folder of these tests
    MemoryBroker,
    MemoryConsumer,
    source,
    until,
)
from watchline.streams.transport.delivery import BatchDelivery
from watchline.streams.transport.sensor import NullMonitor

EVENTS = TP("events", 0)


def listen(app: Any, seen: list[bytes], topic: Any) -> None:
    """An agent that notes values."""

    @app.agent(topic)  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for events in stream.take_events(100):
            seen.extend(event.value for event in events)


@pytest.mark.parametrize(("stock", "calls"), [(True, 50), (False, 0)])
async def test_raw_records_need_no_call_per_message(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, calls: int
) -> None:
    seen: list[bytes] = []
    app = make(stock=stock)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for events in stream.take_events(100, within=0.01):
            seen.extend(event.value for event in events)

    counted = 0
    callback = app.consumer.callback

    async def count(message: Any) -> None:
        nonlocal counted
        counted += 1
        await callback(message)

    app.consumer.callback = count
    for number in range(50):
        memory.append("events", 0, b"k", b"%d" % number)
    await app.start()
    await until(lambda: len(seen) == 50)

    assert seen == [b"%d" % number for number in range(50)]
    assert counted == calls


async def test_a_topic_of_another_type_takes_the_stock_path(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    seen: list[Any] = []
    app = make()
    listen(app, seen, app.topic("events", value_serializer="json"))
    memory.append("events", 0, b"k", b'{"a": 1}')

    await app.start()
    await until(lambda: len(seen) == 1)

    assert seen == [{"a": 1}]


async def test_two_agents_of_one_topic_get_every_event_and_the_slower_one_decides_what_is_committed(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    fast: list[bytes] = []
    slow: list[bytes] = []
    may_go_on = asyncio.Event()
    app = make()
    listen(app, fast, source(app))

    @app.agent(source(app), name="slow")  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for events in stream.take_events(1):
            await may_go_on.wait()
            slow.extend(event.value for event in events)

    for number in range(5):
        memory.append("events", 0, b"k", b"%d" % number)
    await app.start()
    await until(lambda: len(fast) == 5)
    await app.consumer.commit()
    committed_early = memory.group("watched").committed.get(EVENTS)
    may_go_on.set()
    await until(lambda: memory.lag("watched", "events") == 0)

    assert committed_early is None
    assert fast == slow == [b"%d" % number for number in range(5)]


async def test_what_was_fetched_before_a_rebalance_is_not_delivered_after_it(make: Callable[..., Any]) -> None:
    app = make()
    consumer = app.consumer
    consumer._active_partitions = {EVENTS}
    delivered: list[Any] = []

    async def fetch(active: set[TP], timeout: float) -> dict[TP, list[str]]:  # noqa: ASYNC109 - Faust's signature
        app.consumer_generation_id += 1
        return {EVENTS: ["a record"]}

    async def deliver(*args: Any) -> None:
        delivered.append(args)

    consumer._getmany, consumer._deliver = fetch, deliver

    await consumer._fetch_and_deliver()

    assert delivered == []


@pytest.mark.parametrize(("stock", "shared"), [(True, True), (False, False)])
async def test_a_fetch_keeps_its_partitions_when_the_active_set_changes(
    make: Callable[..., Any], stock: bool, shared: bool
) -> None:
    app = make(stock=stock)
    consumer: MemoryConsumer = app.consumer
    consumer._active_partitions = {EVENTS}
    asked: list[set[TP] | None] = []

    async def fetch(
        active_partitions: set[TP] | None,
        timeout: float,  # noqa: ASYNC109 - Faust's signature
    ) -> dict[TP, list[Any]]:
        asked.append(active_partitions)
        return {}

    consumer._getmany = fetch  # type: ignore[method-assign]  # in the place of Faust's own
    if isinstance(consumer, BatchDelivery):
        await consumer._fetch_and_deliver()
    else:
        await consumer._wait_next_records(0.1)
    consumer.pause_partitions([EVENTS])

    assert (asked == [set()]) is shared


async def test_a_full_queue_takes_its_partition_out_of_the_next_fetches_and_an_empty_one_puts_it_back(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    seen: list[bytes] = []
    may_go_on = asyncio.Event()
    app = make(stream_buffer_maxsize=10)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def wait_first(stream: Any) -> None:
        async for events in stream.take_events(5):
            await may_go_on.wait()
            seen.extend(event.value for event in events)

    app.consumer.max_records = 10
    for number in range(500):
        memory.append("events", 0, b"k", b"%d" % number)
    await app.start()
    await until(lambda: EVENTS in app.consumer._buffered_partitions)
    position = await app.consumer.position(EVENTS)
    may_go_on.set()
    await until(lambda: len(seen) == 500)

    assert position is not None
    assert position < 50
    assert seen == [b"%d" % number for number in range(500)]
    await until(lambda: EVENTS in app.consumer._get_active_partitions())


def test_an_end_offset_of_none_does_not_break_the_monitor() -> None:
    NullMonitor().track_tp_end_offset(EVENTS, None)
