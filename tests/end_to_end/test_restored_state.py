"""The changelogs are lost and the log is cut: with `restore-state` the verdicts go on as if nothing had happened."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from aiokafka.errors import KafkaError

from brokers.kinds import Broker
from brokers.topics import create_topics, delete_topics
from faults.invariants.changelogs import Changelog
from faults.invariants.tables import replay_equality
from faults.invariants.violations import assert_none
from faults.lives import QUICK
from faults.streamed import Streamed
from faults.test_streams import QUIET
from folds.log import answered, commanded, ended, started
from stack.contents import assert_equal, rows
from stack.oracle import AnomalyRow, expect, judge
from stack.replay import history
from stack.services import PARTITIONS, Services, services
from watchline.schemas import Event, PipelineDeclared, PipelineMuted, Topics

RUNS = 500  # of the real history
CUT, LAST = 0.5, 0.8  # where the log is cut, and where the changelogs are lost, as shares of the story
TOPICS = ("runs", "declarations", "watermarks")


def story() -> list[Event]:
    """Real runs in the order of their events, and a pipeline of which people have said something."""
    real = [event for event in history(RUNS) if not isinstance(event, PipelineDeclared)]
    real = sorted((event for event in real if event.event_type != "watermark.advanced"), key=time_of)
    return list(distinct(sorted([*real, *answered_runs(real)], key=time_of)))


def time_of(event: Event) -> datetime:
    return event.occurred_at


def answered_runs(real: Sequence[Event]) -> Iterator[Event]:
    """Sixty runs measured in microseconds along the real ones: an odd one is answered, and a mute is given by command.

    Another odd one comes when the changelogs have been lost, and one fails of which nobody may be told.
    """
    moments = [real[number * len(real) // 62].occurred_at for number in range(62)]
    for number, begun in enumerate(moments[:60]):
        took = timedelta(microseconds=61_000_001 + 137_001 * (number % 7))
        yield started(number, begun)
        rows = 9000 if number in (20, 58) else 1000 + number % 5
        yield ended(number, begun + took, inserts=rows, status="failed" if number in (29, 56) else "succeeded")
    yield answered(20, "false_positive", moments[22])
    yield commanded(PipelineMuted, moments[25], check="failure", until=datetime.now(UTC) + timedelta(days=1))


def distinct(events: Iterable[Event]) -> Iterator[Event]:
    """The events with times of their own, as those of real clocks are: what a batch read has no other order later."""
    for number, event in enumerate(events):
        yield event.model_copy(update={"occurred_at": event.occurred_at + timedelta(microseconds=number)})


@pytest.mark.durable("it cuts a log, and a restarted worker recovers its tables from changelogs")
@pytest.mark.faults
async def test_the_verdicts_go_on_as_if_no_changelog_had_been_lost_and_no_log_been_cut(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    events = story()
    cut, last = int(len(events) * CUT), int(len(events) * LAST)
    streamed = Streamed(broker, topics, database)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK | QUIET) as running:
        running.start("sink")
        await streamed.send(events[:cut])
        border = dict(streamed.ends)
        await streamed.send(events[cut:last])
        await streamed.read_to_the_end(running)
        await streamed.stored()
        await lose(broker, topics, border)

        await restore(running)
        await streamed.read_to_the_end(running)
        await streamed.send(events[last:])
        await streamed.finish(running)

    assert differ_without(streamed.story, cut)
    await check(streamed)


@pytest.mark.faults
async def test_a_new_cluster_that_knows_nothing_goes_on_with_the_baselines_of_the_old_one(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    events = story()
    cut = int(len(events) * LAST)
    old, new = Streamed(broker, topics, database), Topics(prefix=f"t{uuid4().hex[:12]}")
    await create_topics(broker.bootstrap_servers, new.specs(), partitions=PARTITIONS)
    with services(tmp_path, broker.bootstrap_servers, database, topics, QUICK | QUIET) as running:
        sink = running.start("sink")
        await old.send(events[:cut])
        await old.read_to_the_end(running)
        await old.stored()
        sink.stop()
    young = Streamed(broker, new, database, story=old.story, letters=old.letters, epoch=1)
    more = QUICK | QUIET | {"WATCHLINE_LOG_EPOCH": "1"}
    (tmp_path / "new").mkdir()
    with services(tmp_path / "new", broker.bootstrap_servers, database, new, more) as running:
        running.start("sink")

        await restore(running)
        await young.send(events[cut:])
        await young.finish(running)

    assert differ_without(young.story, cut)
    await check(young)
    await delete_topics(broker.bootstrap_servers, [spec.name for spec in new.specs()])


async def restore(running: Services, *arguments: str) -> str:
    """Run the command as an operator does; what it said."""
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "watchline.cli", "restore-state", *arguments, env={**os.environ, **running.environment},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said = (await done.communicate())[0].decode()
    assert done.returncode == 0, said
    return said


async def lose(broker: Broker, topics: Topics, border: dict[TopicPartition, int]) -> None:
    """Delete the changelogs, and of the runs what lies before `border`."""
    specs = [spec for spec in topics.specs() if spec.name in {topics.changelog(table) for table in TOPICS}]
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    try:
        await admin.delete_records({place: RecordsToDelete(before_offset=offset) for place, offset in border.items()})
    finally:
        await admin.close()
    await delete_topics(broker.bootstrap_servers, [spec.name for spec in specs])
    async with asyncio.timeout(30):
        while True:
            try:
                await create_topics(broker.bootstrap_servers, specs, partitions=PARTITIONS)
            except (KafkaError, AssertionError):  # a topic is gone a moment after it was deleted
                await asyncio.sleep(0.2)
            else:
                return


def differ_without(events: Sequence[Event], cut: int) -> bool:
    """Whether a worker that only knows what follows the cut judges otherwise, so that this test can fail."""
    ends = {event.run_id for event in events[cut:] if event.event_type == "run.ended"}

    def verdicts(told: Sequence[Event]) -> set[AnomalyRow]:
        found = expect(told, now=datetime.now(UTC)).anomalies
        return {anomaly for anomaly in found.values() if anomaly[0] in ends}

    return verdicts(events) != verdicts(events[cut:])


async def check(streamed: Streamed) -> None:
    """Every verdict, and every bit of the baselines, of one worker that never stopped; nothing told in addition."""
    expected: dict[bytes, bytes] = {}
    for _ in judge(streamed.story, now=datetime.now(UTC), rows=expected):
        pass
    held = await Changelog(streamed.broker.bootstrap_servers, streamed.topics).read()
    assert_none(replay_equality(expected, held.rows))
    await assert_equal(streamed.dsn, expect(streamed.story, now=datetime.now(UTC)))
    told = "select incident_id, count(*) from alert_outbox where transition = 'opened' group by 1 having count(*) > 1"
    assert await rows(streamed.dsn, told) == []
