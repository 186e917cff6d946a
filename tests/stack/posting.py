"""Bad events as a producer sends them, and the dead letters that must come of them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import cast

from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from faults.invariants.effects import Letter, Origin
from faults.invariants.stored import letters_of
from faults.invariants.tails import Tail
from stack.cases import Case
from watchline.schemas import BadEvent, Event, Topics, check_key, decode, decode_record
from watchline.schemas.records import DeadLetter

LARGEST = 2 * 1024 * 1024
# What producers add, and what a careless copy loses: a name twice, no name, no bytes, bytes that are no text, a null.
HEADERS = (("traceparent", b"\x00\xff"), ("traceparent", b"00-4bf9"), ("", b"x"), ("empty", b""), ("null", None))

Places = Mapping[str, list[Origin]]


def with_headers(case: Case) -> Case:
    """The case with headers, where the file names none: its dead letter must hold them."""
    return case if case.headers else replace(case, headers=HEADERS)


async def post(producer: AIOKafkaProducer, topics: Topics, case: Case) -> asyncio.Future[RecordMetadata]:
    """Send a case once; what comes back says where it went."""
    headers, time = list(case.headers), timestamp(case)
    if case.key is None and case.value is None:  # only a batch may hold it
        batch = producer.create_batch()
        batch.append(key=None, value=None, timestamp=time, headers=headers)
        batch.close()
        sent = await producer.send_batch(batch, case.topic(topics), partition=0)
    else:
        sent = await producer.send(case.topic(topics), case.value, key=case.key, headers=headers, timestamp_ms=time)
    return cast(asyncio.Future[RecordMetadata], sent)


def timestamp(case: Case) -> int | None:
    """aiokafka refuses a negative time before it is sent, so the smallest stands in for it."""
    return None if case.timestamp_ms is None else max(0, case.timestamp_ms)


def origin(sent: RecordMetadata) -> Origin:
    return Origin(sent.topic, sent.partition, sent.offset)


def outcome_of(case: Case, *, now: datetime) -> Event | str:
    """The event, or the reason why there is none; where the file leaves it open, the decoder decides."""
    if case.expect == "dlq":
        return case.reason
    try:
        check_key(case.key)
        return decode(case.value, now=now)
    except BadEvent as bad:
        reason = bad.reason
    assert "dlq" in case.expect, f"{case.name} should be taken: {reason}"
    assert reason == case.reason, case.name
    return reason


def expected_letters(cases: Iterable[Case], places: Places, *, now: datetime) -> dict[Origin, Letter]:
    """One for each record that must be refused, with everything that it had."""
    letters: dict[Origin, Letter] = {}
    for case in cases:
        reason = outcome_of(case, now=now)
        if isinstance(reason, str):
            letters |= {place: Letter(reason, case.key, case.value, case.headers) for place in places[case.name]}
    return letters


async def check_letters(bootstrap_servers: str, topics: Topics, dsn: str, expected: Mapping[Origin, Letter]) -> None:
    """Exactly these stand in the table, and exactly these were written to the topic, each once."""
    stored = await letters_of(dsn, (*topics.sources, *topics.outputs))
    written = await letters_in_log(bootstrap_servers, topics)

    for found in (stored, written):
        assert dict(found) == expected
        assert len(found) == len(expected)


async def letters_in_log(bootstrap_servers: str, topics: Topics) -> list[tuple[Origin, Letter]]:
    found = []
    async for _, records in Tail(bootstrap_servers, [topics.dead_letters]).read():
        for record in records:
            letter = decode_record(record.value)
            assert isinstance(letter, DeadLetter)
            place = Origin(letter.source_topic, letter.source_partition, letter.source_offset)
            headers = tuple((name, raw(value)) for name, value in letter.headers)
            found.append((place, Letter(letter.reason, raw(letter.key), raw(letter.value), headers)))
    return found


def raw(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
