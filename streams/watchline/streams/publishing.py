"""Saying what a batch decided: records for the sink, dead letters and misplaced events, all acknowledged on return."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from watchline.schemas import encode_record
from watchline.schemas.records import DeadLetter, SinkRecord
from watchline.schemas.topics import Topics
from watchline.streams.effects import Effects
from watchline.streams.transport import RawRecord, StreamsApp, send_all


async def publish_effects(app: StreamsApp, topics: Topics, effects: Mapping[int, Effects]) -> None:
    """Send what each partition decided into the same partition of the outputs and wait for the acks."""
    await asyncio.gather(
        *(
            send_all(app, topic, _raw(records), partition)
            for partition, decided in effects.items()
            for topic, records in (
                (topics.state, decided.state),
                (topics.anomalies, decided.anomalies),
                (topics.incidents, decided.incidents),
            )
            if records
        )
    )


async def publish_dead_letters(app: StreamsApp, topics: Topics, letters: Sequence[DeadLetter]) -> None:
    """Put unusable records aside with everything needed to send them again."""
    if letters:
        raw: list[RawRecord] = [(None, encode_record(letter), None) for letter in letters]
        await send_all(app, topics.dead_letters, raw, None)


async def send_home(app: StreamsApp, topic: str, misplaced: Sequence[RawRecord]) -> None:
    """Send events under their own key; merging makes it harmless that a crash may do so twice."""
    if misplaced:
        await send_all(app, topic, misplaced, None)


def _raw(records: Iterable[SinkRecord]) -> list[RawRecord]:
    return [(_key(record), encode_record(record), None) for record in records]


def _key(record: SinkRecord) -> bytes | None:
    return None if isinstance(record, DeadLetter) else record.pipeline.encode()
