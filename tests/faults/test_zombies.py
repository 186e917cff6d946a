"""A service that slept past its session does no harm when it wakes up: others have had its partitions meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import asyncpg
import pytest
from aiokafka import TopicPartition

from brokers.kinds import Broker
from faults.invariants.changelogs import Changelog
from faults.invariants.moments import Write, fenced
from faults.invariants.violations import assert_none
from faults.invariants.watching import watching
from faults.judged import Judged, undeclared_history
from faults.lives import QUICK
from faults.streamed import Streamed
from faults.test_mutants import planted
from stack.contents import rows, value
from stack.services import Services, services
from watchline.cli.lag import end_offsets
from watchline.cli.local.child import Child
from watchline.schemas import Topics

pytestmark = [
    pytest.mark.faults,
    pytest.mark.durable("a sleeping member keeps its partitions for a session; the embedded one wants long"),
]
# Every change of an offset, by which connection: what a snapshot can't show.
AUDIT = """
create table writes (
    number bigint generated always as identity, topic text, partition integer, fence bigint, next_offset bigint,
    writer integer
);
create function note_write() returns trigger language plpgsql as $$
begin
    insert into writes (topic, partition, fence, next_offset, writer)
    values (new.topic, new.partition, new.fence, coalesce(new.next_offset, 0), pg_backend_pid());
    return new;
end $$;
create trigger note_write after insert or update on sink_offsets for each row execute function note_write()
"""
WRITES = "select topic, partition, fence, next_offset, writer from writes order by number"


@pytest.mark.parametrize(
    ("heir", "mutant"), [("the sleeper", ""), ("another", ""), ("another", "streams.late_rows_count")]
)
async def test_a_worker_that_slept_within_a_batch_undoes_nothing_of_what_others_did(
    heir: str, mutant: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    await streamed.send(undeclared_history())
    with services(tmp_path, broker.bootstrap_servers, database, topics, {**QUICK, **planted(mutant)}) as running:
        running.launch("sink")
        sleeper = await asleep_in_a_batch(streamed, running)
        other = running.start("streams")
        await streamed.worked()
        os.kill(sleeper.pid, signal.SIGCONT)
        await wrote_late(streamed)
        if heir == "another":
            sleeper.kill()
        other.kill()
        if heir == "another":
            await streamed.finish(running)
        else:
            await streamed.repeat_last()
            await streamed.worked()
            await streamed.stored()

    with pytest.raises(AssertionError, match="I4: ") if mutant else nullcontext():
        await streamed.check()


async def asleep_in_a_batch(streamed: Streamed, running: Services) -> Child:
    """A worker that was stopped when it had said what it decided of a batch, and not yet written its rows."""
    sleeper = running.start("streams", WATCHLINE_FAILPOINT="F4:sleep:0.5")
    async with asyncio.timeout(30):
        while not sum((await end_offsets(streamed.kafka, [streamed.topics.state])).values()):
            await asyncio.sleep(0.01)
    os.kill(sleeper.pid, signal.SIGSTOP)
    return sleeper


async def wrote_late(streamed: Streamed) -> None:
    """Wait until the changelog has a row that is older than one before it, so that there is harm to be done."""
    changelog = Changelog(streamed.broker.bootstrap_servers, streamed.topics)
    async with asyncio.timeout(30):
        while not (await changelog.read()).late:
            await asyncio.sleep(0.2)


@pytest.mark.parametrize("place", ["P1", "P2"])
async def test_a_sink_that_slept_writes_nothing_once_another_has_its_partitions(
    place: str, tmp_path: Path, broker: Broker, judged: Judged, database: str
) -> None:
    await execute(database, AUDIT)
    async with watching(database, judged.topics) as moments:
        with services(tmp_path, broker.bootstrap_servers, database, judged.topics, QUICK) as running:
            sleeper = running.start("sink", WATCHLINE_FAILPOINT=f"{place}:sleep:0.5")
            await until_some(database, "select count(*) from runs")
            os.kill(sleeper.pid, signal.SIGSTOP)
            running.start("sink")
            await judged.stored(database)
            os.kill(sleeper.pid, signal.SIGCONT)
            await noticed(sleeper, lambda log: "fence.lost" in log or "batch.dropped" in log)
            sleeper.stop()

    await judged.check(database, moments)
    assert_none(fenced(Write(TopicPartition(*row[:2]), *row[2:]) for row in await rows(database, WRITES)))


async def execute(dsn: str, script: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(script)
    finally:
        await connection.close()


async def until_some(dsn: str, query: str) -> None:
    async with asyncio.timeout(30):
        while not await value(dsn, query):
            await asyncio.sleep(0.02)


async def noticed(child: Child, says: Callable[[str], bool]) -> None:
    """Wait until its log shows that it knows."""
    async with asyncio.timeout(30):
        while not says(child.log.read_text()):
            await asyncio.sleep(0.1)
