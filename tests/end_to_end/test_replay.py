"""Real runs through real Kafka, streams and sink: Postgres ends up with what a plain fold says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from brokers.kinds import Broker
from stack.contents import assert_equal, value
from stack.oracle import expect
from stack.replay import Replay, history
from stack.services import Services, services
from watchline.cli.local.child import Child
from watchline.schemas import Topics

RUNS = 3000
Parts = dict[str, Child]
Harm = Callable[[Services, Replay, Parts], Coroutine[Any, Any, None]]


async def play(harm: Harm, folder: Path, broker: Broker, topics: Topics, database: str) -> None:
    """Replay the history while `harm` is done, then compare all rows with the oracle's."""
    story = history(RUNS)
    more = {"WATCHLINE_BATCH_SIZE": "100"}  # many batches, so that a kill falls between any two steps
    with services(folder, broker.bootstrap_servers, database, topics, more) as running:
        replay = Replay(broker.bootstrap_servers, topics, database, story)
        worker, sink = running.start("streams"), running.start("sink")
        await replay.declare()
        async with asyncio.TaskGroup() as both:
            both.create_task(replay.run())
            both.create_task(harm(running, replay, {"streams": worker, "sink": sink}))
        await replay.stored(RUNS)
        await settled(database)
    await assert_equal(database, expect(story, now=datetime.now(UTC)))


async def settled(dsn: str) -> None:
    """Wait until nothing has changed for a second: the last incidents and anomalies follow the last run."""
    query = "select (select count(*) from anomalies) + (select count(*) from incident_events)"
    before, since = None, 0
    async with asyncio.timeout(30):
        while since < 10:
            now = await value(dsn, query)
            before, since = now, since + 1 if now == before else 0
            await asyncio.sleep(0.1)


async def do_nothing(running: Services, replay: Replay, parts: Parts) -> None:
    """The fault-free run."""


async def kill_twice(running: Services, replay: Replay, parts: Parts, name: str) -> None:
    """SIGKILL a part in the middle of the replay, and once more its successor."""
    part = parts[name]
    for runs in (RUNS // 5, RUNS // 2):
        await replay.stored(runs)
        part.kill()
        assert await replay.count() < RUNS, "it was killed too late to matter"
        part = await asyncio.to_thread(running.start, name)


async def kill_the_worker(running: Services, replay: Replay, parts: Parts) -> None:
    await kill_twice(running, replay, parts, "streams")


async def kill_the_sink(running: Services, replay: Replay, parts: Parts) -> None:
    await kill_twice(running, replay, parts, "sink")


async def add_and_remove_a_second_worker(running: Services, replay: Replay, parts: Parts) -> None:
    await replay.stored(RUNS // 5)
    second = await asyncio.to_thread(running.start, "streams")
    await replay.stored(RUNS // 2)
    await asyncio.to_thread(second.stop)
    third = await asyncio.to_thread(running.start, "streams")
    await replay.stored(RUNS * 3 // 4)
    third.kill()


async def test_every_run_is_stored_exactly_once_with_the_verdicts_of_a_plain_fold(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    await play(do_nothing, tmp_path, broker, topics, database)


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.parametrize("harm", [kill_the_worker, kill_the_sink, add_and_remove_a_second_worker])
async def test_it_ends_in_the_same_rows_after(
    harm: Harm, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    await play(harm, tmp_path, broker, topics, database)
