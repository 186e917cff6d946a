"""A service that slept past its session does no harm when it wakes up: others have had its partitions meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg
import pytest
from aiokafka import TopicPartition
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from brokers.kinds import Broker
from faults.invariants.changelogs import Changelog
from faults.invariants.moments import Write, fenced
from faults.invariants.tails import Tail
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
from watchline.streams.rows import offset_of
from watchline.streams.topics import connect

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
        sleeper, other = await awake_too_late(streamed, running)
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


@pytest.mark.parametrize("mutant", ["", "streams.late_rows_stay_last"])
async def test_a_row_outlives_the_late_one_behind_it_and_a_compaction(
    mutant: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    streamed = Streamed(broker, topics, database)
    await streamed.send(undeclared_history())
    with services(tmp_path, broker.bootstrap_servers, database, topics, {**QUICK, **planted(mutant)}) as running:
        running.launch("sink")
        sleeper, other = await awake_too_late(streamed, running)
        late = (await standing(streamed, lambda now: bool(now.late))).late
        sleeper.kill()
        if not mutant:
            await standing(streamed, lambda now: not now.stale)
            assert '"event": "changelog.healed"' in other.log.read_text()
        await compact(streamed)
        await standing(streamed, lambda now: all(now.count[key] == 1 for key in late))
        other.kill()
        await streamed.finish(running)

    with pytest.raises(AssertionError, match="I4: ") if mutant else nullcontext():
        await streamed.check()


async def awake_too_late(streamed: Streamed, running: Services) -> tuple[Child, Child]:
    """A worker that wakes up in the middle of a batch, and the one that has finished all of its work meanwhile."""
    sleeper = await asleep_in_a_batch(streamed, running)
    other = running.start("streams")
    await streamed.worked()
    os.kill(sleeper.pid, signal.SIGCONT)
    return sleeper, other


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


@dataclass
class Standing:
    """The changelog of the runs as compaction sees it: of each key the last record, whatever its age."""

    last: dict[bytes, int] = field(default_factory=dict)  # the source offsets that rows have absorbed
    newest: dict[bytes, int] = field(default_factory=dict)
    late: set[bytes] = field(default_factory=set)
    count: Counter[bytes] = field(default_factory=Counter)

    @property
    def stale(self) -> set[bytes]:
        return {key for key, offset in self.last.items() if offset < self.newest[key]}

    def take(self, key: bytes, offset: int) -> None:
        if offset < self.newest.get(key, offset):
            self.late.add(key)
        self.last[key], self.newest[key] = offset, max(offset, self.newest.get(key, offset))
        self.count[key] += 1


async def standing(streamed: Streamed, satisfies: Callable[[Standing], bool], *, seconds: float = 90) -> Standing:
    """Read the changelog from its beginning until it is as wished."""
    async with asyncio.timeout(seconds):
        while True:
            now = Standing()
            async for _, records in Tail(streamed.broker.bootstrap_servers, [streamed.topics.changelog("runs")]).read():
                for record in records:
                    now.take(record.key, offset_of(record.value))
            if satisfies(now):
                return now
            await asyncio.sleep(0.2)


async def compact(streamed: Streamed) -> None:
    """Let Kafka close a segment of the changelog with every pulse, and compact what is closed."""
    quick = {"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.001"}
    async with connect(streamed.kafka) as admin:
        changelog = ConfigResource(ConfigResourceType.TOPIC, streamed.topics.changelog("runs"), quick)
        (answer,) = await admin.alter_configs([changelog])
    assert [code for code, *_ in answer.resources] == [0]


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
