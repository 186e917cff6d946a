"""Sending dead letters again: the bytes as they came, to where they came from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import asyncpg
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from watchline.cli.dead_letters.compaction import why_not_last
from watchline.cli.dead_letters.letters import REDRIVEN_HEADER, Letter, Summary, open_letters, read
from watchline.cli.reach import check_topics_exist
from watchline.consumers.notifier.wording import utc
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Unavailable
from watchline.schemas.printing import printable
from watchline.schemas.topics import MAX_DEAD_LETTER_BYTES, Topics

ACK_MS = 15_000
MARK = """
update public.dead_letters
set status = 'redriven', redriven_at = $2, redriven_count = redriven_count + 1, redriven_by = $3
where dead_letter_id = $1
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one letter: where it is now, or why it was left as it was."""

    dead_letter_id: int
    place: str = ""
    left: str = ""


def why_not(letter: Summary, topics: Topics, *, again: bool) -> str | None:
    """Why a letter must not be sent, None when it may.

    A topic that is none of ours could be anybody's: the letter's word is not enough. A null is never an event, and
    on a compacted topic it would delete what is kept under its key: see `why_not_last` for what else is left there.
    """
    if letter.status == "redriven" and letter.redriven_at and not again:
        by = printable(letter.redriven_by or "", 200)
        return f"was redriven {utc(letter.redriven_at)} by {by}; --again sends it once more"
    if letter.status == "discarded" and letter.discarded_at and not again:
        by = printable(letter.discarded_by or "", 200)
        return f"was discarded {utc(letter.discarded_at)} by {by}; --again sends it all the same"
    if letter.source_topic not in (*topics.sources, *topics.outputs):
        name = printable(letter.source_topic, 200)
        return f"came from {name}, no topic of WATCHLINE_TOPIC_PREFIX={topics.prefix}"
    if letter.value_bytes is None:
        return "has a Kafka null for its value, which is no event"
    return None


async def redrive_letters(
    dsn: str, kafka: KafkaConnection, topics: Topics, ids: Sequence[int], *, again: bool, by: str
) -> AsyncIterator[Outcome]:
    """Send the letters in order, each marked when Kafka has it.

    A crash in between leaves a letter open that was sent: sending it twice is harmless, since events merge by id and
    records by revision.
    """
    await check_topics_exist(kafka, topics)
    async with open_letters(dsn) as connection, open_producer(kafka) as producer:
        for letter_id in ids:
            yield await redrive_one(connection, producer, letter_id, topics, again=again, by=by)


async def redrive_one(
    connection: asyncpg.Connection[Any],
    producer: AIOKafkaProducer,
    letter_id: int,
    topics: Topics,
    *,
    again: bool,
    by: str,
) -> Outcome:
    """Lock, look again, send, wait for Kafka, mark: somebody else's command waits, and then finds it redriven."""
    async with connection.transaction():
        letter = await read(connection, letter_id, lock=True)
        if letter is None:
            return Outcome(letter_id, left="is no longer there")
        now = datetime.now(UTC)
        refusal = why_not(letter, topics, again=again) or await why_not_last(connection, letter, topics, now=now)
        if refusal is not None:
            return Outcome(letter_id, left=refusal)
        try:
            place = await send(producer, letter)
        except MessageSizeTooLargeError:
            return Outcome(letter_id, left=f"is too large for {letter.source_topic}: raise its max.message.bytes")
        await connection.execute(MARK, letter_id, datetime.now(UTC), by)
    return Outcome(letter_id, place)


async def send(producer: AIOKafkaProducer, letter: Letter) -> str:
    """Where Kafka has put the record; Unavailable when it does not say so in time."""
    headers = [*letter.headers, (REDRIVEN_HEADER, str(letter.dead_letter_id).encode())]
    try:
        sent = await producer.send_and_wait(letter.source_topic, letter.value, key=letter.key, headers=headers)
    except MessageSizeTooLargeError:
        raise
    except (KafkaError, OSError) as error:
        raise Unavailable(
            f"Kafka did not take letter {letter.dead_letter_id}: {str(error) or type(error).__name__}",
            hint="it and those after it are still open; the same command takes them up again",
        ) from error
    return f"{sent.topic}/{sent.partition}@{sent.offset}"


@asynccontextmanager
async def open_producer(kafka: KafkaConnection) -> AsyncIterator[AIOKafkaProducer]:
    """A producer that takes any record that a dead letter can hold."""
    producer = AIOKafkaProducer(
        acks="all", max_request_size=MAX_DEAD_LETTER_BYTES, request_timeout_ms=ACK_MS, **kafka.client_arguments()
    )
    try:
        try:
            await producer.start()
        except (KafkaError, OSError) as error:
            raise Unavailable(
                f"Kafka does not answer at {kafka.bootstrap_servers}", hint="all letters are as they were"
            ) from error
        yield producer
    finally:
        await producer.stop()
