"""Batches: whole, in order, acknowledged only when done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP, ConsumerMessage

from streams.transport.memory import MemoryBroker, source, until  # noqa: TID251 - the folder of these tests

EVENTS = TP("events", 0)


@pytest.mark.parametrize(("stock", "first_try_repeated"), [(True, False), (False, True)])
async def test_a_batch_that_raised_comes_again(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, first_try_repeated: bool
) -> None:
    seen: list[list[int]] = []
    app = make(stock=stock)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def fail_once(stream: Any) -> None:
        async for events in stream.take_events(5, within=0.05):
            seen.append([event.message.offset for event in events])
            if len(seen) == 1:
                raise RuntimeError("the agent failed")

    for _ in range(5):
        memory.append("events", 0, b"k", b"v")
    await app.start()
    await until(lambda: len(seen) >= 1)
    for _ in range(5):
        memory.append("events", 0, b"k", b"v")
    await until(lambda: memory.lag("watched", "events") == 0)

    assert (seen[1][0] == 0) is first_try_repeated
    assert sorted({offset for batch in seen[1:] for offset in batch}) == list(range(0 if first_try_repeated else 5, 10))


async def test_an_idle_stream_takes_what_is_there_and_a_busy_one_takes_it_all(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    sizes: list[int] = []
    app = make()

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for events in stream.take_events(1000):
            sizes.append(len(events))

    await app.start()
    memory.append("events", 0, b"k", b"v")
    await until(lambda: sizes == [1])
    for _ in range(700):
        memory.append("events", 0, b"k", b"v")
    await until(lambda: sum(sizes) == 701)

    assert sizes == [1, 700]


async def test_an_event_of_an_earlier_generation_is_not_given_to_the_agent(make: Callable[..., Any]) -> None:
    app = make()
    stream = app.stream(source(app))
    app.flow_control.resume()
    app.consumer_generation_id = 3
    events = [
        app.create_event(
            b"k", b"v", None, ConsumerMessage("events", 0, n, 0.0, 0, None, b"k", b"v", None, generation_id=n)
        )
        for n in (2, 3)
    ]

    assert [event.message.offset for event in stream.current(events)] == [3]


async def test_no_event_is_given_to_the_agent_while_partitions_are_moved(make: Callable[..., Any]) -> None:
    app = make()
    stream = app.stream(source(app))
    app.flow_control.suspend()
    message = ConsumerMessage("events", 0, 0, 0.0, 0, None, b"k", b"v", None, generation_id=0)

    assert stream.current([app.create_event(b"k", b"v", None, message)]) == []
