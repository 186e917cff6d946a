"""What both demos leave in Postgres, made by the folds and the sink's writer alone: the same every time, in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain

from aiokafka import TopicPartition

from faults.invariants.plain import PlainFold
from sinking.records import Sent
from sinking.tables import PLACE, batch_of
from watchline.cli.demo import live
from watchline.cli.demo.history import read_history
from watchline.cli.demo.night.clock import last_night
from watchline.cli.demo.night.script import PULSE, SETTLE, write_script
from watchline.cli.demo.night.telling import Sent as Told
from watchline.cli.demo.translation import declarations, events
from watchline.consumers.sink.writer import Writer
from watchline.schemas import Event, Topics, WatermarkAdvanced, encode, encode_record
from watchline.schemas.events import PipelineDeclared
from watchline.schemas.topics import watermark_key
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.publishing import encode_run
from watchline.streams.pulses import encode_pulse
from watchline.streams.runs.desk import Rhythm

TODAY = datetime(2026, 11, 30, 12, tzinfo=UTC)  # the day on which the demos were run
BATCH = 5_000
TOPICS = Topics("demo")
Step = Event | datetime


@dataclass(frozen=True, slots=True)
class Source:
    """A record as the streams read it."""

    topic: str
    offset: int
    key: bytes | None
    value: bytes
    partition: int = 0
    timestamp: float | None = None
    headers: tuple[tuple[str, bytes], ...] = ()


class Gathering(PlainFold):
    """A fold that keeps what it says, in order."""

    def __init__(self) -> None:
        super().__init__(TOPICS, Rhythm(PULSE.total_seconds(), SETTLE.total_seconds(), 0), partitions=1)
        self.said: list[bytes] = []

    def _note(self, said: Effects) -> None:
        self.said += [encode_record(one) for one in said.state]
        self.said += [encode_run(one) for one in said.runs]
        self.said += [encode_record(one) for one in said.anomalies]
        self.said += [encode_record(one) for one in said.incidents]


async def fill(dsn: str) -> None:
    """Store what the demos `history` and `night` tell, into an empty database."""
    writer = Writer(dsn, log_epoch=0, alert_max_age=timedelta(days=60), command_timeout=60)
    try:
        fence = (await writer.claim([PLACE], owner="demo"))[PLACE].fence
        said = [Sent(value, offset) for offset, value in enumerate(tell())]
        for first in range(0, len(said), BATCH):
            await writer.store(batch_of(said[first : first + BATCH], fence=fence, now=TODAY))
    finally:
        await writer.close()


def tell() -> list[bytes]:
    """All that the streams say of both demos."""
    fold = Gathering()
    steps = list(story())
    for topic in (TOPICS.pipelines, TOPICS.runs, TOPICS.watermarks):
        sources = list(sources_of(topic, steps))
        for first in range(0, len(sources), BATCH):
            fold.take(TopicPartition(topic, 0), sources[first : first + BATCH])
    return fold.said


def story() -> Iterator[Step]:
    """The declarations, then the history, the night with its pulses, and the run that fails live."""
    history, script = read_history(), write_script(last_night(TODAY))
    yield from chain(declarations(history), script.declared, live.declarations(TODAY))
    yield from chain.from_iterable(map(events, history))
    yield from (step.event if isinstance(step, Told) else step for step in script.steps())
    yield from live.failing_run(TODAY)


def sources_of(topic: str, steps: Sequence[Step]) -> Iterator[Source]:
    """Those of the steps that go into a topic, as its records."""
    for offset, step in enumerate(belonging(topic, steps)):
        if isinstance(step, datetime):
            yield Source(topic, offset, None, encode_pulse(to_micros(step)))
        elif isinstance(step, WatermarkAdvanced):
            yield Source(topic, offset, watermark_key(step.pipeline, step.dataset), encode(step))
        else:
            yield Source(topic, offset, step.pipeline.encode(), encode(step))


def belonging(topic: str, steps: Iterable[Step]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, PipelineDeclared):
            home = TOPICS.pipelines
        else:
            home = TOPICS.watermarks if isinstance(step, WatermarkAdvanced) else TOPICS.runs
        if home == topic:
            yield step
