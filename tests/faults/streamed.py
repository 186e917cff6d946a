"""A log as jobs write it, and what the streams and the sink must have made of it in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from aiokafka import AIOKafkaProducer, TopicPartition

from brokers.kinds import Broker
from faults.invariants.changelogs import Changelog
from faults.invariants.effects import accounted, conservation, dead_letters_whole, one_effect
from faults.invariants.moments import Moment, atomic_visibility, fences_hold
from faults.invariants.plain import PlainFold, fold_log
from faults.invariants.progress import durable_frontier, no_commit_ahead
from faults.invariants.spoken import said_in
from faults.invariants.stored import (
    anomalies_of,
    effects_of,
    incidents_of,
    letters_of,
    runs_of,
    unfit_values,
    watermarks_of,
)
from faults.invariants.tables import changelog_is_table, replay_equality
from faults.invariants.values import finite_values
from faults.invariants.violations import Violation, assert_none
from faults.judged import LETTER_ROWS, LetterRow
from faults.lives import behind
from stack.contents import assert_equal, rows
from stack.oracle import expect
from stack.services import PARTITIONS, Services
from watchline.cli.lag import committed_offsets, end_offsets, stored_offsets
from watchline.cli.local.child import Child
from watchline.consumers.database import connect
from watchline.schemas import Event, KafkaConnection, RunEnded, RunStarted, Topics, encode
from watchline.streams.runs.desk import Rhythm

BAD = b'{"event_type": \x00\xff'
EVERY = 10  # a bad record behind so many good ones, so that most batches have one
RHYTHM = Rhythm(pulse=0.3, settle=0, epoch=0)  # that of `QUICK`
TABLES = ("runs", "watermarks")


def own_key(event: Event) -> bytes:
    return event.pipeline.encode()


@dataclass
class Streamed:
    """What was sent, where it lies, and the database that the sink writes into."""

    broker: Broker
    topics: Topics
    dsn: str
    story: list[Event] = field(default_factory=list)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    letters: list[LetterRow] = field(default_factory=list)
    events: dict[TopicPartition, list[tuple[int, bytes]]] = field(default_factory=dict)
    epoch: int = 0

    @property
    def kafka(self) -> KafkaConnection:
        return KafkaConnection(bootstrap_servers=self.broker.bootstrap_servers)

    async def send(
        self, events: Iterable[Event], *, key_of: Callable[[Event], bytes] = own_key, every: int = EVERY
    ) -> None:
        """Write events with bad records in between, one behind each `every` of them."""
        async with AIOKafkaProducer(
            bootstrap_servers=self.broker.bootstrap_servers, acks="all", linger_ms=1
        ) as producer:
            for number, event in enumerate(events):
                key, topic = key_of(event), self._topic_of(event)
                sent = await producer.send_and_wait(topic, encode(event), key=key)
                place = TopicPartition(sent.topic, sent.partition)
                self.events.setdefault(place, []).append((sent.offset, key))
                if number % every == 0:
                    sent = await producer.send_and_wait(topic, BAD, key=key)
                    self.letters.append((*place, sent.offset, "invalid_utf8", key, BAD))
                self.ends[place] = sent.offset + 1
                self.story.append(event)

    async def repeat_last(self) -> None:
        """Send the last event of each pipeline again: the worker writes back the row it holds, so it can be read."""
        last: dict[tuple[str, str], Event] = {(self._topic_of(event), event.pipeline): event for event in self.story}
        await self.send(list(last.values()), every=len(last) + 1)

    async def finish(self, running: Services, **more: str) -> Child:
        """A worker that nobody kills reads to the end, shows its rows and stops; the sink stores all that was said."""
        worker = running.start("streams", **more)
        await self.worked()
        await self.repeat_last()
        await self.worked()
        worker.stop(seconds=20)
        assert worker.exit_code == 0
        await self.stored()
        return worker

    async def read_to_the_end(self, running: Services, **more: str) -> None:
        """A worker reads all there is, pulses too, and stops."""
        worker = running.start("streams", **more)
        self.ends |= await end_offsets(self.kafka, [self.topics.runs])
        await self.worked()
        worker.stop(seconds=20)
        assert worker.exit_code == 0

    async def worked(self, *, seconds: float = 60) -> None:
        """Wait until the streams have committed all that was sent."""
        async with asyncio.timeout(seconds):
            while behind(await committed_offsets(self.kafka, self.topics.application, self.ends), self.ends):
                await asyncio.sleep(0.1)

    async def stored(self, *, seconds: float = 60) -> None:
        """Wait until the sink has stored all that was said."""
        outputs = await end_offsets(self.kafka, self.topics.outputs)
        connection = await connect(self.dsn, application="test")
        try:
            async with asyncio.timeout(seconds):
                while behind(await stored_offsets(connection, self.epoch), outputs):
                    await asyncio.sleep(0.1)
        finally:
            await connection.close()

    async def check_commits(self) -> None:
        """I3: what the group has committed is in the changelogs."""
        committed = await committed_offsets(self.kafka, self.topics.application, self.ends)
        durable: dict[TopicPartition, int] = {}
        for table, topic in ((table, f"{self.topics.prefix}.{table}") for table in TABLES):
            changelog = await Changelog(self.broker.bootstrap_servers, self.topics, table).read()
            for place, offset in committed.items():
                if place.topic == topic:
                    events = self.events.get(place, ())
                    durable[place] = durable_frontier(events, changelog.absorbed, offset)
        assert_none(no_commit_ahead("the streams", committed, durable))

    async def check(self, moments: Sequence[Moment] = ()) -> None:
        """I1, I2, I4, I5, I9, I15, I18 and I19, and the rows of the oracle in full."""
        servers = self.broker.bootstrap_servers
        fold = await fold_log(servers, self.topics, PlainFold(self.topics, RHYTHM, partitions=PARTITIONS))
        assert_none(await self._effects(fold), await self._tables(fold))
        assert_none(atomic_visibility(moments, await said_in(servers, self.topics)), fences_hold(moments))
        await assert_equal(self.dsn, expect(self.story, now=datetime.now(UTC)))
        assert sorted(await rows(self.dsn, LETTER_ROWS)) == sorted(self.letters)

    async def _effects(self, fold: PlainFold) -> list[Violation]:
        return [
            *conservation(acknowledged(self.story), (), await effects_of(self.dsn)),
            *one_effect(fold.runs, await runs_of(self.dsn), of="run"),
            *one_effect(fold.expected.anomalies, await anomalies_of(self.dsn), of="anomaly"),
            *one_effect(fold.expected.incidents, await incidents_of(self.dsn), of="incident"),
            *one_effect(fold.watermarks, await watermarks_of(self.dsn), of="watermark"),
            *dead_letters_whole(fold.letters, await letters_of(self.dsn, self.topics.sources)),
            *accounted(fold.accounts),
            *finite_values(await unfit_values(self.dsn)),
        ]

    async def _tables(self, fold: PlainFold) -> list[Violation]:
        broken: list[Violation] = []
        for table in TABLES:
            held = await Changelog(self.broker.bootstrap_servers, self.topics, table).read()
            expected = fold.tables[table].data
            broken += changelog_is_table(held.homes, held.rows, expected, partition_of=fold.partition_of)
            broken += replay_equality(expected, held.rows) if table == "runs" else []
        return broken

    def _topic_of(self, event: Event) -> str:
        return self.topics.watermarks if event.event_type.startswith("watermark.") else self.topics.runs


def acknowledged(story: Iterable[Event]) -> set[tuple[str, UUID]]:
    """The effects that must be found of events that Kafka has acknowledged."""
    effects: set[tuple[str, UUID]] = set()
    for event in story:
        if isinstance(event, RunStarted):
            effects.add(("started", event.run_id))
        elif isinstance(event, RunEnded):
            effects.add(("ended", event.event_id))
        elif event.event_type == "watermark.advanced":
            effects.add(("watermark", event.event_id))
    return effects
