"""Flushed means sent; sent means acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from faust.exceptions import ProducerSendError

from streams.transport.memory import MemoryBroker, source  # noqa: TID251 - the folder of these tests
from watchline.streams.transport import send_all


@pytest.mark.parametrize(("stock", "flushed_early"), [(True, True), (False, False)])
async def test_a_flush_does_not_return_before_everything_is_sent(
    memory: MemoryBroker, make: Callable[..., Any], stock: bool, flushed_early: bool
) -> None:
    app = make(stock=stock)
    await app.producer.start()
    memory.create("events")
    memory.may_produce.clear()
    for _ in range(3):
        source(app).send_soon(key=b"k", value=b"v", partition=0)

    flushing = asyncio.create_task(app.producer.flush())
    done, _ = await asyncio.wait([flushing], timeout=1.0)
    memory.may_produce.set()
    await flushing

    assert bool(done) is flushed_early
    if not stock:
        assert len(list(memory.records("events"))) == 3
    await app.producer.stop()


async def test_a_flush_that_can_not_end_raises(
    memory: MemoryBroker, make: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("watchline.streams.transport.producer.FLUSH_SECONDS", 0.2)
    app = make()
    await app.producer.start()
    memory.create("events")
    memory.may_produce.clear()
    source(app).send_soon(key=b"k", value=b"v", partition=0)

    with pytest.raises(ProducerSendError, match="unsent"):
        await app.producer.flush()

    memory.may_produce.set()
    await app.producer.stop()


async def test_records_keep_their_order_in_a_given_partition(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    app = make()

    await send_all(app, "out", [(b"k", b"%d" % number, None) for number in range(5)], 2)

    assert [(r.partition, r.value) for r in memory.records("out")] == [(2, b"%d" % n) for n in range(5)]


async def test_records_without_a_partition_go_where_their_key_belongs(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    app = make()
    memory.create("out")

    await send_all(app, "out", [(b"a", b"1", None), (b"b", b"2", None), (b"c", b"3", None)], None)

    assert {r.key: r.partition for r in memory.records("out")} == {
        key: memory.partition_of("out", key) for key in (b"a", b"b", b"c")
    }
