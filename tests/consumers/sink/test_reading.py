"""Reading one batch ahead of what Postgres stores, and forgetting it when the partitions change hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from aiokafka import TopicPartition
from pydantic import SecretStr

from sinking.records import NOON, Sent, sent, started
from watchline.consumers.sink.consuming import Claims
from watchline.consumers.sink.offsets import Claim, FenceLost, Place
from watchline.consumers.sink.reading import SLICE, ReadAhead, decode_all, reading_ahead
from watchline.consumers.sink.service import carry
from watchline.consumers.sink.settings import SinkSettings
from watchline.consumers.sink.writer import Batch, Writer

PARTITION = TopicPartition("t.state", 0)
SIZE = 3


class Numbers:
    """Reads 0, 1, 2 … and counts what it has begun to read."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.begun = 0
        self.fail_at = fail_at

    async def __call__(self) -> int:
        number = self.begun
        self.begun += 1
        await asyncio.sleep(0)
        if number == self.fail_at:
            raise KeyError(number)
        return number


async def turns() -> None:
    """Let everything else run until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_one_batch_is_read_ahead_and_never_two() -> None:
    numbers = Numbers()

    async with reading_ahead(numbers) as ahead:
        assert await ahead.take() == 0
        ahead.begin()
        ahead.begin()
        await turns()

        assert numbers.begun == 2
        assert [await ahead.take(), await ahead.take()] == [1, 2]


async def test_what_is_dropped_is_never_taken() -> None:
    numbers = Numbers()

    async with reading_ahead(numbers) as ahead:
        ahead.begin()
        await turns()
        await ahead.drop()

        assert await ahead.take() == 1


async def test_nothing_is_being_read_after_the_end() -> None:
    ended = asyncio.Event()

    async def read() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    ahead: ReadAhead[None]
    async with reading_ahead(read) as ahead:
        ahead.begin()
        await turns()

    assert ended.is_set()


async def test_what_reading_raises_is_raised_where_the_batch_is_taken() -> None:
    async with reading_ahead(Numbers(fail_at=1)) as ahead:
        await ahead.take()
        ahead.begin()
        await turns()

        with pytest.raises(KeyError):
            await ahead.take()


async def test_what_reading_raised_ahead_is_dropped_with_the_batch() -> None:
    async with reading_ahead(Numbers(fail_at=0)) as ahead:
        ahead.begin()
        await turns()
        await ahead.drop()

        assert await ahead.take() == 1


async def test_records_keep_their_order_and_others_run_while_they_are_decoded() -> None:
    sources = sent(*(started(str(number)) for number in range(2 * SLICE + 1)))
    decoding = asyncio.create_task(decode_all(sources, now=NOON, log_epoch=0))

    await asyncio.sleep(0)
    assert not decoding.done()

    assert [item.source.offset for item in await decoding] == list(range(2 * SLICE + 1))


class Log:
    """A consumer of one partition that holds `length` records."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.position = 0
        self.slow_from = length  # a fetch from here is answered when partitions were taken over once more
        self.taken_over = asyncio.Event()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        assert partition == PARTITION
        self.position = offset
        if offset:
            self.taken_over.set()

    async def getmany(self, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Sent]]:
        await asyncio.sleep(0)
        records = sent(*[b"x"] * min(max_records, self.length - self.position), first=self.position)
        self.position += len(records)
        if records and records[0].offset == self.slow_from and not self.taken_over.is_set():
            await self.taken_over.wait()
        return {PARTITION: records} if records else {}

    async def commit(self, offsets: Any) -> None: ...

    def paused(self) -> set[TopicPartition]:
        return set()

    def resume(self) -> None: ...


class NotingWriter(Writer):
    """Notes which offsets were stored; `meanwhile` happens while a batch is being stored."""

    def __init__(self, stop: asyncio.Event, meanwhile: Callable[[int], None]) -> None:
        super().__init__("", log_epoch=0, alert_max_age=timedelta(days=1))
        self.stored: list[int] = []
        self.fence = 0
        self.stop = stop
        self.meanwhile = meanwhile

    async def claim(self, places: Iterable[Place], *, owner: str) -> dict[Place, Claim]:
        self.fence += 1
        return {place: Claim(self.fence, len(self.stored)) for place in places}

    async def store(self, batch: Batch) -> int:
        await turns()  # the next batch is read
        self.meanwhile(len(self.stored))
        if batch.advances[0].fence != self.fence:
            raise FenceLost([("t.state", 0)])
        self.stored += [item.source.offset for item in batch.items]
        if len(self.stored) >= 12:
            self.stop.set()
        return 0


async def carried(change: Callable[[Claims, NotingWriter], None], *, slow_from: int = 12) -> NotingWriter:
    """What is stored of a log of twelve when `change` happens while its second batch is stored."""
    claims, stop, log = Claims("me"), asyncio.Event(), Log(12)
    log.slow_from = slow_from
    claims.on_partitions_assigned([PARTITION])
    changed: list[int] = []

    def meanwhile(stored: int) -> None:
        if stored == SIZE and not changed:
            changed.append(log.position)
            change(claims, writer)

    writer = NotingWriter(stop, meanwhile)
    settings = SinkSettings(postgres_dsn=SecretStr(""), batch_size=SIZE)
    async with asyncio.timeout(20):
        await carry(log, claims, writer, settings, stop)
    assert changed == [3 * SIZE], "the third batch was not read ahead"
    return writer


async def test_what_was_read_ahead_of_a_rebalance_is_read_again_once() -> None:
    writer = await carried(lambda claims, _: claims.on_partitions_assigned([PARTITION]))

    assert writer.stored == list(range(12))
    assert writer.fence == 2


async def test_a_fetch_under_way_in_a_rebalance_is_not_taken_for_what_comes_after_the_seek() -> None:
    writer = await carried(lambda claims, _: claims.on_partitions_assigned([PARTITION]), slow_from=2 * SIZE)

    assert writer.stored == list(range(12))


async def test_a_batch_that_the_fence_refuses_is_read_again_with_all_that_was_read_ahead() -> None:
    def taken_away_and_given_back(claims: Claims, writer: NotingWriter) -> None:
        claims.on_partitions_revoked([PARTITION])
        claims.on_partitions_assigned([PARTITION])
        writer.fence += 1  # another sink had it in between

    writer = await carried(taken_away_and_given_back)

    assert writer.stored == list(range(12))
    assert writer.fence == 3


async def test_a_fence_lost_without_a_rebalance_ends_the_loop_and_stores_nothing_read_ahead() -> None:
    def overtaken(_: Claims, writer: NotingWriter) -> None:
        writer.fence += 1
        noted.append(writer)

    noted: list[NotingWriter] = []
    with pytest.raises(FenceLost):
        await carried(overtaken)

    assert noted[0].stored == list(range(SIZE))
