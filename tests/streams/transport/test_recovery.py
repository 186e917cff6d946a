"""Tables come back whole, and coming back loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP

from streams.transport.memory import (  # noqa: TID251 - the folder of these tests
    MemoryBroker,
    source,
    table,
    until,
)

CHANGELOG = "watched-rows-changelog"


def listen(app: Any, seen: list[int]) -> Any:
    """An agent that notes offsets, and a table that it does not write."""
    rows = table(app)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for events in stream.take_events(100, within=0.01):
            seen.extend(event.message.offset for event in events)

    return rows


@pytest.mark.parametrize(("stock", "lost"), [(True, True), (False, False)])
async def test_no_event_is_lost_between_the_seek_and_the_clearing_of_queues(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, lost: bool
) -> None:
    seen: list[int] = []
    app = make(stock=stock)
    table(app)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def note(stream: Any) -> None:
        async for event in stream.events():
            await until(lambda: not app.rebalancing)  # busy: what is fetched meanwhile stays in the queue
            seen.append(event.message.offset)

    memory.append(CHANGELOG, 0, b"k", b"row")
    for _ in range(10):
        memory.append("events", 0, b"k", b"v")
    memory.seek_seconds = 1.5  # the committed offsets come late: a running fetcher uses the time

    await app.start()
    memory.append("events", 0, b"k", b"v")
    await until(lambda: 10 in seen)

    assert (len(set(seen)) < 11) is lost


async def test_a_changelog_without_a_readable_last_record_does_not_stall_recovery(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    seen: list[int] = []
    app = make()
    rows = listen(app, seen)
    memory.append(CHANGELOG, 0, b"k", b"row")
    memory.skip(CHANGELOG, 0)
    memory.append("events", 0, b"k", b"v")

    await app.start()
    await until(lambda: seen == [0])

    assert dict(rows.data.items()) == {b"k": b"row"}


async def test_a_stock_recovery_waits_for_a_readable_last_record_without_end(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    app = make(stock=True)
    listen(app, [])
    memory.append(CHANGELOG, 0, b"k", b"row")
    memory.skip(CHANGELOG, 0)

    starting = asyncio.create_task(app.start())
    recovery = app.tables.recovery
    await until(lambda: recovery.active_offsets.get(TP(CHANGELOG, 0)) == 0)
    done, _ = await asyncio.wait([starting], timeout=2.5)

    assert not done
    assert recovery.need_recovery()
    recovery.active_offsets[TP(CHANGELOG, 0)] = 1
    memory.append(CHANGELOG, 0, b"k", b"row")
    await starting


@pytest.mark.parametrize(("stock", "keys"), [(True, 1), (False, 10)])
async def test_records_past_an_end_that_was_reported_too_low_are_restored(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, keys: int
) -> None:
    app = make(stock=stock)
    rows = listen(app, [])
    for number in range(10):
        memory.append(CHANGELOG, 0, b"k%d" % number, b"row")
    memory.reported_end_too_low_by = 9

    await app.start()

    assert len(rows.data) == keys


async def test_a_second_rebalance_does_not_read_own_rows_again(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    app = make()
    rows = listen(app, [])
    await app.start()
    for future in await rows.put_many({0: {b"k": b"old"}}) + await rows.put_many({0: {b"k": b"new"}}):
        await future
    restored: list[Any] = []
    rows.apply_changelog_batch = restored.extend

    await memory.rebalance("watched")
    await until(lambda: not app.rebalancing)

    assert restored == []
    assert rows.data[b"k"] == b"new"


async def test_what_another_worker_wrote_while_we_slept_is_read_after_the_rebalance(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    app = make()
    rows = listen(app, [])
    rows.age_of = int
    await app.start()
    for future in await rows.put_many({0: {b"k": b"1"}}):
        await future
    memory.append(CHANGELOG, 0, b"k", b"7")  # by whoever had the partition meanwhile
    for future in await rows.put_many({0: {b"k": b"2"}}):
        await future

    await memory.rebalance("watched")
    await until(lambda: not app.rebalancing)

    assert rows.data[b"k"] == b"7"
