"""Staying in the group while Postgres keeps us waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiokafka import TopicPartition

from watchline.consumers.sink import consuming
from watchline.consumers.sink.consuming import Claims, polling_meanwhile
from watchline.consumers.sink.offsets import Claim, Place
from watchline.consumers.sink.persistence import Stopped

FIRST, SECOND = TopicPartition("t.state", 0), TopicPartition("t.state", 1)


class FakeConsumer:
    """Counts polls, and notes what is paused and where it was told to read on."""

    def __init__(self) -> None:
        self.polls = 0
        self.polled_twice = asyncio.Event()
        self.on_hold: set[TopicPartition] = set()
        self.positions: dict[TopicPartition, int] = {}

    def assignment(self) -> set[TopicPartition]:
        return {FIRST, SECOND}

    def pause(self, *partitions: TopicPartition) -> None:
        self.on_hold |= set(partitions)

    def paused(self) -> set[TopicPartition]:
        return set(self.on_hold)

    def resume(self, *partitions: TopicPartition) -> None:
        self.on_hold -= set(partitions)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self.positions[partition] = offset

    async def getmany(self, timeout_ms: int) -> dict[Any, Any]:
        assert self.on_hold == self.assignment(), "a poll would have lost records"
        self.polls += 1
        if self.polls == 2:
            self.polled_twice.set()
        return {}


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consuming, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(consuming, "STOP_SECONDS", 0.05)


async def test_long_work_is_polled_through_with_everything_paused() -> None:
    consumer = FakeConsumer()

    async def work() -> str:
        await consumer.polled_twice.wait()
        return "stored"

    assert await polling_meanwhile(consumer, work(), asyncio.Event()) == "stored"
    assert consumer.on_hold == set()


async def test_work_that_does_not_end_is_given_up_after_a_stop() -> None:
    stop = asyncio.Event()
    stop.set()
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(Stopped):
        await polling_meanwhile(FakeConsumer(), work(), stop)

    assert ended.is_set()


async def test_what_the_work_raises_comes_through() -> None:
    async def work() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await polling_meanwhile(FakeConsumer(), work(), asyncio.Event())


class FakeWriter:
    """Gives every partition; while it does, the group may think otherwise."""

    def __init__(self, during: Any = None) -> None:
        self.during = during

    async def claim(self, places: Any, *, owner: str) -> dict[Place, Claim]:
        if self.during:
            self.during()
        return {place: Claim(fence=4, next_offset=None if place[1] else 17) for place in places}


async def test_partitions_taken_over_are_read_from_where_postgres_stands() -> None:
    claims, consumer = Claims("me"), FakeConsumer()
    claims.on_partitions_assigned([FIRST, SECOND])

    await claims.settle(consumer, FakeWriter())

    assert consumer.positions == {FIRST: 17, SECOND: 0}
    assert claims.fences == {FIRST: 4, SECOND: 4}


async def test_a_partition_that_the_group_takes_back_meanwhile_is_not_ours() -> None:
    claims, consumer = Claims("me"), FakeConsumer()
    claims.on_partitions_assigned([FIRST, SECOND])

    await claims.settle(consumer, FakeWriter(during=lambda: claims.on_partitions_assigned([SECOND])))

    assert consumer.positions == {SECOND: 0}
    assert claims.ours({FIRST: ["record"], SECOND: ["record"]}) == {SECOND: ["record"]}
    assert claims.moved_on([(FIRST.topic, FIRST.partition)])
    assert not claims.moved_on([(SECOND.topic, SECOND.partition)])


def test_what_was_fetched_before_the_partition_was_taken_over_is_not_used() -> None:
    claims = Claims("me")
    claims.on_partitions_assigned([FIRST])

    assert claims.ours({FIRST: ["record"]}) == {}
