"""Starts that come and starts that don't, on a real broker, with time as it is written in the log."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from stack.contents import rows
from stack.oracle import expect
from stack.services import PARTITIONS, services
from watchline.cli.local.child import Child
from watchline.schemas import Event, PipelineDeclared, RunStarted, Schedule, Topics, encode
from watchline.streams.instants import to_micros
from watchline.streams.intake import Homes
from watchline.streams.pulses import encode_pulse
from watchline.streams.runs.desk import Rhythm

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
PULSE_SECONDS = 60  # the worker's own pulses are rare, those of the log are the test's
RHYTHM = {"WATCHLINE_PULSE_SECONDS": str(PULSE_SECONDS), "WATCHLINE_SETTLE_SECONDS": "0"}
SLOTS = "select due_at, state from expected_runs where pipeline = $1 and due_at < $2 order by due_at"
INCIDENTS = "select kind, status, resolve_reason from incidents where pipeline = $1"


@dataclass
class Writer:
    """Writes events and pulses into the log, each pipeline in the partition that is its own."""

    producer: AIOKafkaProducer
    topics: Topics
    told: list[Event | datetime] = field(default_factory=list)

    async def declare(self, pipeline: str, schedule: Schedule, at: datetime) -> None:
        event = PipelineDeclared(event_id=uuid4(), occurred_at=at, pipeline=pipeline, schedule=schedule)
        await self.producer.send_and_wait(self.topics.pipelines, encode(event), key=pipeline.encode())
        self.told.append(event)

    async def start(self, pipeline: str, at: datetime) -> UUID:
        event = RunStarted(event_id=uuid4(), occurred_at=at, pipeline=pipeline, run_id=uuid4())
        await self.producer.send_and_wait(self.topics.runs, encode(event), key=pipeline.encode())
        self.told.append(event)
        return event.run_id

    async def pulse(self, at: datetime, *partitions: int) -> None:
        for partition in partitions or range(PARTITIONS):
            await self.producer.send(self.topics.runs, encode_pulse(to_micros(at)), partition=partition)
        self.told.append(at)


def apart(count: int) -> list[tuple[str, int]]:
    """Pipelines in as many partitions, each with its own."""
    homes, found = Homes(PARTITIONS), dict[int, str]()
    for n in range(1000):
        found.setdefault(homes.of(f"p{n}")[1], f"p{n}")
    return [(name, partition) for partition, name in found.items()][:count]


async def reach(dsn: str, query: str, arguments: tuple[Any, ...], expected: Callable[[Any], bool]) -> Any:
    """Wait until what the query finds is as expected."""
    found: Any = None
    try:
        async with asyncio.timeout(40):
            while not expected(found := await rows(dsn, query, *arguments)):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within 40 s; there is {found}") from None
    return found


@contextmanager
def asleep(worker: Child) -> Iterator[None]:
    """Nothing of the worker's own stands between what is written meanwhile; it is shorter than its session."""
    os.kill(worker.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker.pid, signal.SIGCONT)


async def declared(dsn: str, count: int) -> None:
    await reach(dsn, "select count(*) from pipeline_versions", (), lambda found: found == [(count,)])


async def test_a_start_is_missed_then_late_and_its_incident_ends(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    with services(tmp_path, broker.bootstrap_servers, database, topics, RHYTHM) as running:
        running.start("streams")
        running.start("sink")
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
            log, now = Writer(producer, topics), datetime.now(UTC)
            due = now.replace(second=0, microsecond=0) + 2 * MINUTE
            await log.declare("p", Schedule(cron=f"{due:%M %H} * * *", grace_seconds=1), now)
            await declared(database, 1)
            for seconds in range(1, 50):  # the row is there a moment after its record
                await log.pulse(now + timedelta(seconds=seconds))
                if found := await rows(database, SLOTS, "p", due + MINUTE):
                    break
                await asyncio.sleep(0.5)
            await log.pulse(due)
            await log.pulse(due + timedelta(seconds=1))
            await reach(database, SLOTS, ("p", due + MINUTE), lambda found: found == [(due, "missed")])
            opened = await reach(database, INCIDENTS, ("p",), bool)
            run = await log.start("p", due + timedelta(seconds=40))
            await reach(database, SLOTS, ("p", due + MINUTE), lambda found: found == [(due, "late")])
            resolved = await reach(database, INCIDENTS, ("p",), lambda found: found[0][1] == "resolved")

    assert found == [(due, "expected")]
    assert opened == [("missed_start", "open", None)]
    assert resolved == [("missed_start", "resolved", "arrived_late")]
    assert await rows(database, "select run_id from expected_runs where state = 'late'") == [(run,)]
    told = await rows(database, "select transition, payload ->> 'title' from alert_outbox order by transition_no")
    title = f"did not start, due {due:%Y-%m-%d %H:%M} UTC"
    assert told == [("opened", title), ("resolved", title)]


async def test_a_backlog_of_forty_minutes_invents_nothing_an_idle_partition_decides_and_a_gap_is_unknown(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    (busy, its), (idle, another), (torn, third) = apart(3)
    end = datetime.now(UTC).replace(second=0, microsecond=0)
    begin = end - 40 * MINUTE
    schedule = Schedule(cron=f"{begin.minute % 10}-59/10 * * * *", grace_seconds=120)
    with services(tmp_path, broker.bootstrap_servers, database, topics, RHYTHM) as running:
        worker = running.start("streams")
        running.start("sink")
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
            log = Writer(producer, topics)
            for pipeline in (busy, idle, torn):
                await log.declare(pipeline, schedule, begin - DAY)
            await declared(database, 3)
            with asleep(worker):
                for n in range(-1, 41):
                    at = begin + n * MINUTE
                    await log.pulse(at, its, another)
                    if n < 5 or n > 33:
                        await log.pulse(at, third)
                    if n % 10 == 0:
                        await log.start(busy, at)
                    if n in (0, 40):
                        await log.start(torn, at)

            async def slots(pipeline: str, states: list[str]) -> None:
                wanted = [(begin + n * 10 * MINUTE, state) for n, state in enumerate(states)]
                await reach(database, SLOTS, (pipeline, end - MINUTE), lambda found: found == wanted)

            await slots(busy, ["met", "met", "met", "met"])
            await slots(idle, ["missed", "missed", "missed", "missed"])
            await slots(torn, ["met", "unknown", "unknown", "unknown"])

    assert await rows(database, INCIDENTS, busy) == []
    assert await rows(database, INCIDENTS, torn) == []
    assert await rows(database, INCIDENTS, idle) == [("missed_start", "open", None)]


async def test_nine_o_clock_stays_nine_o_clock_and_the_rows_are_those_of_a_plain_fold(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    ((pipeline, home),) = apart(1)
    begin = datetime(2026, 10, 24, 6, 58, tzinfo=UTC)  # the clocks go back in the night that follows
    starts = [datetime(2026, 10, day, hour, tzinfo=UTC) for day, hour in ((24, 7), (25, 8), (26, 8))]
    end = starts[-1] + 10 * MINUTE
    with services(tmp_path, broker.bootstrap_servers, database, topics, RHYTHM) as running:
        worker = running.start("streams")
        running.start("sink")
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
            log = Writer(producer, topics)
            schedule = Schedule(cron="0 9 * * *", timezone="Europe/Berlin", grace_seconds=120)
            await log.declare(pipeline, schedule, begin)
            await declared(database, 1)
            with asleep(worker):
                for n in range((end - begin) // (2 * MINUTE)):
                    at = begin + n * 2 * MINUTE
                    await log.pulse(at, home)
                    if at in starts:
                        await log.start(pipeline, at)
            await reach(database, SLOTS, (pipeline, end), lambda found: found == [(due, "met") for due in starts])

    kinds = {kind for kind, *_ in await rows(database, INCIDENTS, pipeline)}
    assert "missed_start" not in kinds  # but that the runs have been open for a day is told
    plain = expect(log.told, now=datetime.now(UTC), rhythm=Rhythm(PULSE_SECONDS, 0, 0))
    wanted = [row for (_, due), row in sorted(plain.slots.items()) if due < end]
    stored = "select pipeline, due_at, state, run_id, started_at from expected_runs where due_at < $1 order by due_at"
    assert await rows(database, stored, end) == wanted
