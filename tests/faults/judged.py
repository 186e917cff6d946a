"""A log of verdicts as the streams write it, without the streams: what the sink reads in these tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
from aiokafka import AIOKafkaProducer, TopicPartition

from brokers.topics import create_topics
from faults.invariants.moments import Moment, atomic_visibility, fences_hold
from faults.invariants.spoken import said_in
from faults.invariants.stored import unfit_values
from faults.invariants.values import finite_values
from faults.invariants.violations import assert_none
from faults.lives import Offsets, behind
from stack.contents import assert_equal, rows
from stack.oracle import Expected, judge, note, run_row
from stack.replay import history
from stack.services import PARTITIONS
from watchline.cli.lag import stored_offsets
from watchline.schemas import Event, PipelineDeclared, Topics, encode_record
from watchline.schemas.records import DeadLetter, RunRecord
from watchline.streams.effects import Effects
from watchline.streams.publishing import encode_run

RUNS = 250
LETTERS = 60
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
Record = tuple[str, bytes | None, bytes]
LetterRow = tuple[str, int, int, str, bytes | None, bytes | None]
LETTER_ROWS = "select source_topic, source_partition, source_offset, reason, key, value from dead_letters"


def undeclared_history() -> list[Event]:
    """Real runs under the rules for pipelines that nobody declared: no order between two topics is needed."""
    return [event for event in history(RUNS) if not isinstance(event, PipelineDeclared)]


@dataclass(frozen=True)
class Judged:
    """The topics, where they end, and the rows that must come of them."""

    bootstrap_servers: str
    topics: Topics
    ends: dict[TopicPartition, int]
    expected: Expected
    letters: list[LetterRow]

    async def add_run(self) -> None:
        """Write one more run to the end of the log, of a pipeline of its own."""
        number = len(self.expected.runs) + 1
        run = RunRecord(
            pipeline=f"late-{number}", revision=number, run_id=uuid4(), status="succeeded", end_event_id=uuid4(),
            started_at=NOON, ended_at=NOON + timedelta(seconds=number), duration_seconds=number, total_rows=number,
        )  # fmt: skip
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap_servers, acks="all") as producer:
            sent = await producer.send_and_wait(self.topics.state, encode_record(run), key=run.pipeline.encode())
        self.ends[TopicPartition(sent.topic, sent.partition)] = sent.offset + 1
        self.expected.runs[run.run_id] = run_row(run)

    async def stored(self, dsn: str, *, seconds: float = 60.0) -> None:
        """Wait until Postgres says that all of the log is stored."""
        async with asyncio.timeout(seconds):
            while behind(await self.offsets(dsn), self.ends):
                await asyncio.sleep(0.05)

    async def offsets(self, dsn: str) -> Offsets:
        connection = await asyncpg.connect(dsn)
        try:
            return await stored_offsets(connection, 0)
        finally:
            await connection.close()

    async def check(self, dsn: str, moments: Sequence[Moment] = ()) -> None:
        """Runs, anomalies, incidents, dead letters, and alerts: each exactly once, as the oracle says.

        And at each of the `moments` nothing was there by halves.
        """
        await assert_equal(dsn, self.expected)
        said = await said_in(self.bootstrap_servers, self.topics)
        assert_none(atomic_visibility(moments, said), fences_hold(moments), finite_values(await unfit_values(dsn)))
        assert sorted(await rows(dsn, LETTER_ROWS)) == self.letters
        twice = "select incident_id, transition_no from alert_outbox group by 1, 2 having count(*) > 1"
        assert await rows(dsn, twice) == []
        told = await rows(dsn, "select distinct incident_id from incident_events")
        assert {identity for (identity,) in told} == set(self.expected.incidents)


async def write_judged(bootstrap_servers: str, topics: Topics) -> Judged:
    """Make the topics and write into them what the oracle says, some of it twice, and some of it once more and late."""
    await create_topics(bootstrap_servers, topics.specs(), partitions=PARTITIONS)
    expected = Expected()
    said: list[Record] = []
    for effects in judge(undeclared_history(), now=datetime.now(UTC)):
        note(expected, effects)
        said += records_of(topics, effects)
    said += [record for record in said if record[0] == topics.incidents][::2]  # late, as a worker that slept sends it
    letters = [letter(topics, number) for number in range(LETTERS)]
    said += [(topics.dead_letters, None, encode_record(one)) for one in letters]
    ends: dict[TopicPartition, int] = {}
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, acks="all") as producer:
        for number, (topic, key, value) in enumerate(said):
            for _ in range(2 if number % 10 == 0 else 1):
                sent = await producer.send_and_wait(topic, value, key=key)
                ends[TopicPartition(topic, sent.partition)] = sent.offset + 1
    return Judged(bootstrap_servers, topics, ends, expected, sorted(map(letter_row, letters)))


def records_of(topics: Topics, effects: Effects) -> Iterator[Record]:
    for run in effects.runs:
        yield topics.state, run["pipeline"].encode(), encode_run(run)
    for topic, found in ((topics.anomalies, effects.anomalies), (topics.incidents, effects.incidents)):
        for record in found:
            yield topic, record.pipeline.encode(), encode_record(record)


def letter(topics: Topics, number: int) -> DeadLetter:
    return DeadLetter(
        reason="not_json", detail="test", source_topic=topics.runs, source_partition=number % PARTITIONS,
        source_offset=number, key="a2V5", value="AP97", failed_at=datetime.now(UTC),
    )  # fmt: skip


def letter_row(of: DeadLetter) -> LetterRow:
    return (of.source_topic, of.source_partition, of.source_offset, of.reason, b"key", b"\x00\xff{")
