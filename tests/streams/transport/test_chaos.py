"""Workers come, go and die while events flow: every event is counted once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from streams.transport.counting import Count, count_events  # noqa: TID251 - the folder of these tests
from streams.transport.memory import (  # noqa: TID251 - the folder of these tests
    PARTITIONS,
    MemoryBroker,
    source,
    table,
    until,
)

CHANGELOG = "watched-runs-changelog"


def durable_counts(memory: MemoryBroker) -> dict[bytes, int]:
    """What the changelog says, as the next worker would read it."""
    return {r.key or b"": Count.decode(r.value).events for r in memory.records(CHANGELOG)}


async def produce(memory: MemoryBroker, rounds: int, seed: int) -> Counter[bytes]:
    """Write events of 20 keys for about `rounds` / 50 s, and say how many of each."""
    rng, truth = random.Random(seed), Counter[bytes]()
    memory.create("events")
    for _ in range(rounds):
        for _ in range(30):
            key = b"pipeline-%d" % rng.randrange(20)
            memory.append("events", memory.partition_of("events", key), key, b"{}")
            truth[key] += 1
        await asyncio.sleep(0.02)
    return truth


async def test_every_event_is_counted_once_while_workers_join_and_one_is_killed(
    memory: MemoryBroker, make: Callable[..., Any]
) -> None:
    producing = asyncio.create_task(produce(memory, 150, seed=7))
    workers = [make(), make(), make()]
    tables = [count_events(worker, "events", partitions=PARTITIONS) for worker in workers]
    await workers[0].start()
    await workers[1].start()
    await asyncio.sleep(0.4)

    workers[1].consumer.kill()
    await memory.rebalance("watched")
    await workers[2].start()
    truth = await producing
    await until(lambda: memory.lag("watched", "events") == 0)

    assert durable_counts(memory) == truth
    alive = {
        key: Count.decode(row).events
        for worker_table in (tables[0], tables[2])
        for partition, key, row in worker_table.rows()
        if partition in worker_table.owned()
    }
    assert alive == truth


async def test_twenty_rebalances_lose_and_repeat_nothing(memory: MemoryBroker, make: Callable[..., Any]) -> None:
    seen: Counter[tuple[int, int]] = Counter()
    app = make(commit_interval=600.0)
    rows = table(app)

    @app.agent(source(app))  # type: ignore[untyped-decorator]  # Faust types it as Any
    async def count(stream: Any) -> None:
        async for events in stream.take_events(50):
            seen.update((event.message.partition, event.message.offset) for event in events)
            await asyncio.gather(*await rows.put_many({event.message.partition: {b"k": b"r"} for event in events}))

    await app.start()
    producing = asyncio.create_task(produce(memory, 150, seed=3))
    for _ in range(20):
        await asyncio.sleep(0.1)
        await memory.rebalance("watched")
    await producing
    await until(lambda: not app.rebalancing)
    await until(lambda: len(seen) == sum(memory.ends[tp] for tp in memory.ends if tp.topic == "events"))

    assert set(seen.values()) == {1}
