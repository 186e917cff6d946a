"""Rows are visible when they are durable, and gone when they are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from faust.types import TP, ConsumerMessage

from streams.transport.memory import MemoryBroker, table, until  # noqa: TID251 - the folder of these tests

CHANGELOG = "watched-rows-changelog"


async def test_rows_and_tombstones_reach_the_changelog_of_their_partition(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    app = make()
    rows = table(app)

    await asyncio.gather(*await rows.put_many({1: {b"a": b"1", b"b": b"2"}, 2: {b"c": b"3"}}))
    await asyncio.gather(*await rows.put_many({1: {b"a": None}}))

    written = [(r.partition, r.key, r.value) for r in memory.records(CHANGELOG)]
    assert written == [(1, b"a", b"1"), (1, b"b", b"2"), (1, b"a", None), (2, b"c", b"3")]
    assert sorted(rows.rows()) == [(1, b"b", b"2"), (2, b"c", b"3")]


async def test_a_row_is_not_visible_before_the_broker_has_it(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    app = make()
    rows = table(app)
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def send_batches(*args: Any) -> list[tuple[asyncio.Future[Any], int]]:
        return [(answer, 1)]

    app.producer.send_batches = send_batches
    (stored,) = await rows.put_many({0: {b"k": b"row"}})
    before = rows.data.get(b"k")
    answer.set_exception(ConnectionError("the broker went away"))

    with pytest.raises(ConnectionError):
        await stored

    assert before is None
    assert rows.data.get(b"k") is None


@pytest.mark.parametrize(("stock", "row"), [(True, None), (False, b"")])
async def test_a_key_deleted_and_set_again_in_one_chunk_is_kept(
    make: Callable[..., Any], stock: bool, row: bytes | None
) -> None:
    app = make(stock=stock)
    rows = table(app)
    chunk = [
        app.create_event(b"k", value, None, ConsumerMessage(CHANGELOG, 0, offset, 0.0, 0, None, b"k", value, None))
        for offset, value in enumerate((b"old", None, b""))
    ]

    rows.apply_changelog_batch(chunk)

    assert rows.data.get(b"k") == row


async def test_a_row_that_was_written_late_replaces_no_newer_one_in_a_recovery(make: Callable[..., Any]) -> None:
    app = make()
    rows = table(app)
    rows.age_of = int
    chunk = [
        app.create_event(b"k", value, None, ConsumerMessage(CHANGELOG, 0, offset, 0.0, 0, None, b"k", value, None))
        for offset, value in enumerate((b"18", b"318", b"19"))
    ]

    rows.apply_changelog_batch(chunk[:2])
    rows.apply_changelog_batch(chunk[2:])

    assert rows.data.get(b"k") == b"318"


async def test_rows_of_a_lost_partition_are_purged(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    app = make()
    rows = table(app)
    await asyncio.gather(*await rows.put_many({0: {b"lost": b"1"}, 1: {b"kept": b"2"}}))

    await rows.on_recovery_completed({TP(CHANGELOG, 1)}, set())

    assert list(rows.rows()) == [(1, b"kept", b"2")]


async def test_partitions_are_owned_from_their_assignment_to_the_end_of_the_settling(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    owned: dict[str, frozenset[int]] = {}
    app = make()
    rows = table(app)
    owned["before"] = rows.owned()
    await app.start()

    @app.on_partitions_revoked.connect(weak=False)  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def revoked(*args: Any, **kwargs: Any) -> None:
        owned["between"] = rows.owned()

    @app.on_rebalance_complete.connect(weak=False)  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def complete(*args: Any, **kwargs: Any) -> None:
        owned["recovered"] = rows.owned()

    owned["at rest"] = rows.owned()
    await memory.rebalance("watched")
    await until(lambda: not app.rebalancing)

    everything, nothing = frozenset({0, 1, 2, 3}), frozenset[int]()
    assert owned == {"before": nothing, "at rest": everything, "between": nothing, "recovered": everything}
