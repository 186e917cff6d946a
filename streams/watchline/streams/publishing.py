"""Saying what a batch decided: records for the sink, dead letters and misplaced events, all acknowledged on return."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from watchline.schemas import encode_record
from watchline.schemas.failpoints import failpoint
from watchline.schemas.records import DeadLetter, PulseRecord, RunRecord, SinkRecord
from watchline.schemas.topics import Topics
from watchline.streams.effects import Effects
from watchline.streams.intake import Misplaced
from watchline.streams.transport import RawRecord, StreamsApp, hand_over, send_all


async def publish_effects(app: StreamsApp, topics: Topics, effects: Mapping[int, Effects]) -> None:
    """Send what each partition decided into the same partition of the outputs and wait for the acks."""
    await asyncio.gather(
        *(
            send_all(app, topic, records, partition)
            for partition, decided in effects.items()
            for topic, records in (
                (topics.state, [*_raw(decided.state), *_raw_runs(decided.runs)]),
                (topics.anomalies, _raw(decided.anomalies)),
                (topics.incidents, _raw(decided.incidents)),
            )
            if records
        )
    )


async def publish_dead_letters(app: StreamsApp, topics: Topics, letters: Sequence[DeadLetter]) -> None:
    """Put unusable records aside with everything needed to send them again."""
    if letters:
        failpoint("D1")  # its offset is not committed
        raw: list[RawRecord] = [(None, encode_record(letter), None) for letter in letters]
        acknowledgements = await hand_over(app, topics.dead_letters, raw, None)
        failpoint("D2")  # the letter may be there or not
        await asyncio.gather(*acknowledgements)
        failpoint("D3")  # it is there, and may come twice: the sink keeps one


async def send_home(app: StreamsApp, topic: str, misplaced: Sequence[Misplaced]) -> None:
    """Send events under their own key; merging makes it harmless that a crash may do so twice."""
    homes: dict[int, list[RawRecord]] = {}
    for record in misplaced:
        homes.setdefault(record.partition, []).append((record.key, record.value, record.headers))
    await asyncio.gather(*(send_all(app, topic, records, partition) for partition, records in homes.items()))


def _raw(records: Iterable[SinkRecord]) -> list[RawRecord]:
    return [(_key(record), encode_record(record), None) for record in records]


def _raw_runs(runs: Iterable[dict[str, Any]]) -> list[RawRecord]:
    return [(run["pipeline"].encode(), encode_run(run), None) for run in runs]


def encode_run(fields: dict[str, Any]) -> bytes:
    """The bytes of a run record; orjson knows no integer past 64 bits, which metadata may hold."""
    try:
        return orjson.dumps(fields)
    except TypeError:
        return encode_record(RunRecord.model_validate(fields))


def _key(record: SinkRecord) -> bytes | None:
    return None if isinstance(record, DeadLetter | PulseRecord) else record.pipeline.encode()
