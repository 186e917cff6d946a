"""Real runs through real Kafka, streams and sink: Postgres ends up with what a plain fold says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from brokers.kinds import Broker
from stack.contents import assert_equal, value
from stack.oracle import expect
from stack.replay import Replay, history
from stack.services import Services, services
from watchline.schemas import Topics

RUNS = 1500
Harm = Callable[[Services, Replay], Awaitable[None]]


async def play(harm: Harm, folder: Path, broker: Broker, topics: Topics, database: str) -> None:
    """Replay the history while `harm` is done, then compare all rows with the oracle's."""
    story = history(RUNS)
    with services(folder, broker.bootstrap_servers, database, topics) as running:
        replay = Replay(broker.bootstrap_servers, topics, database, story)
        await harm(running, replay)
        await replay.finish(RUNS)
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


async def nothing(running: Services, replay: Replay) -> None:
    running.start("streams")
    running.start("sink")
    await replay.declare()


async def kill_the_worker(running: Services, replay: Replay) -> None:
    running.start("sink")
    worker = running.start("streams")
    await replay.declare()
    for share in (0.2, 0.2):
        await replay.send(share)
        worker.kill()
        await replay.send(0.1)
        worker = running.start("streams")


async def kill_the_sink(running: Services, replay: Replay) -> None:
    running.start("streams")
    sink = running.start("sink")
    await replay.declare()
    for share in (0.2, 0.2):
        await replay.send(share)
        sink.kill()
        await replay.send(0.1)
        sink = running.start("sink")


async def add_and_remove_a_second_worker(running: Services, replay: Replay) -> None:
    running.start("sink")
    running.start("streams")
    await replay.declare()
    await replay.send(0.2)
    second = running.start("streams")
    await replay.send(0.2)
    second.stop(seconds=15)
    await replay.send(0.2)
    third = running.start("streams")
    await replay.send(0.2)
    third.kill()


async def test_every_run_is_stored_exactly_once_with_the_verdicts_of_a_plain_fold(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    await play(nothing, tmp_path, broker, topics, database)


@pytest.mark.durable("a restarted worker recovers its tables from changelogs")
@pytest.mark.parametrize("harm", [kill_the_worker, kill_the_sink, add_and_remove_a_second_worker])
async def test_it_ends_in_the_same_rows_after(
    harm: Harm, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    await play(harm, tmp_path, broker, topics, database)
