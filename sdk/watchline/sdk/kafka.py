"""The way to Kafka. Everything here runs in the background thread; aiokafka is imported there, on first use."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from watchline.schemas.failpoints import failpoint
from watchline.schemas.topics import home_of
from watchline.sdk.life import CLOSE_SECONDS, LAST_SECONDS, Loop
from watchline.sdk.message import Message, Rejected, Settle
from watchline.sdk.process import importing
from watchline.sdk.settings import Settings

if TYPE_CHECKING:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

REQUEST_MS = 10_000
FETCH_WAIT_MS = 20
# The embedded broker reports an end before the last records, so reading goes on past it until a fetch brings nothing;
# for as long as this at most, since other pipelines of the partition go on sending.
QUIET_MS = 250
HEAD_START_SECONDS = 1.0


class KafkaCarrier:
    """One producer, from `open` to `close`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: AIOKafkaProducer | None = None

    async def open(self) -> None:
        """Connect, or raise."""
        with importing:
            from aiokafka import AIOKafkaProducer  # noqa: PLC0415 - 100 ms that the job must not wait for

        silence_clients(threading.get_ident())
        self._producer = AIOKafkaProducer(
            **self._settings.client_arguments(),
            client_id="watchline-sdk",
            acks="all",
            enable_idempotence=self._settings.idempotence,
            partitioner=by_pipeline,
            request_timeout_ms=REQUEST_MS,
        )
        await start(self._producer)

    async def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Disconnect; what is under way has `seconds` to be acknowledged."""
        if self._producer is not None:
            with suppress(Exception):  # it is on its way out, and nobody is left to care
                await asyncio.wait_for(self._producer.stop(), seconds)
            with suppress(Exception):  # as above; `stop` comes to it only when all is acknowledged
                await self._producer.client.close()

    async def send(self, messages: Sequence[Message], settle: Settle) -> None:
        """Send in order and settle each message.

        Declarations get a second's start, so that a pipeline's first run is judged by what it declared. The topics go
        side by side: a missing one holds up only itself.
        """
        first = self._settings.topics.pipelines
        async with asyncio.TaskGroup() as sending:
            for topic in sorted({message.topic for message in messages}, key=lambda topic: (topic != first, topic)):
                batch = [message for message in messages if message.topic == topic]
                task = sending.create_task(self._send_topic(batch, settle))
                if topic == first:
                    await asyncio.wait([task], timeout=HEAD_START_SECONDS)

    async def _send_topic(self, messages: Sequence[Message], settle: Settle) -> None:
        sent = []
        failed: Exception | None = None
        for message in messages:
            if failed is not None:
                settle(message, failed)
                continue
            try:
                assert self._producer is not None, "open first"
                sent.append((message, await self._producer.send(message.topic, message.value, message.key)))
            except Exception as error:  # noqa: BLE001 - the outcome of one message, given to `settle`
                outcome = judge(error)
                settle(message, outcome)
                failed = None if isinstance(outcome, Rejected) else outcome
        failpoint("S3")  # the log may hold any part of it
        for message, acknowledgement in sent:
            settle(message, await wait_outcome(acknowledgement))

    async def read_values(self, topic: str, key: bytes) -> list[bytes]:
        """All values of a key that the log holds now, oldest first."""
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415 - as above

        silence_clients(threading.get_ident())
        consumer = AIOKafkaConsumer(
            **self._settings.client_arguments(),
            client_id="watchline-sdk",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            request_timeout_ms=REQUEST_MS,
        )
        try:
            await start(consumer)
            return await read_key(consumer, topic, key, await self._partition_of(topic, key))
        finally:
            await consumer.stop()

    async def _partition_of(self, topic: str, key: bytes) -> int:
        assert self._producer is not None, "open first"
        partitions = sorted(await self._producer.partitions_for(topic))
        return by_pipeline(key, partitions, partitions)


async def start(client: AIOKafkaProducer | AIOKafkaConsumer) -> None:
    """Start a client; when that is given up half way, hang up before it is cancelled.

    aiokafka forgets the connection that it was asking for metadata, and Python would warn the job of one left open.
    """
    starting = asyncio.create_task(client.start())
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        if isinstance(loop := asyncio.get_running_loop(), Loop):
            await loop.hang_up()
        starting.cancel()
        await asyncio.wait([starting], timeout=LAST_SECONDS / 2)
        raise


def by_pipeline(key: bytes, every: Sequence[int], available: Sequence[int]) -> int:
    """The partition of a key's pipeline, as Kafka's default partitioner chooses it."""
    from aiokafka.partitioner import DefaultPartitioner  # noqa: PLC0415 - as above

    return int(DefaultPartitioner()(home_of(key), every, available))


async def read_key(consumer: AIOKafkaConsumer, topic: str, key: bytes, partition: int) -> list[bytes]:
    """The values of a key in one partition, from its beginning to its end at this moment."""
    from aiokafka import TopicPartition  # noqa: PLC0415 - as above

    place = TopicPartition(topic, partition)
    consumer.assign([place])
    await consumer.seek_to_beginning(place)
    end = (await consumer.end_offsets([place]))[place]
    values: list[bytes] = []
    enough: float | None = None
    while True:
        records = (await consumer.getmany(place, timeout_ms=QUIET_MS)).get(place, [])
        values += [record.value for record in records if record.key == key and record.value is not None]
        if await consumer.position(place) >= end:
            enough = enough or time.monotonic() + QUIET_MS / 1000
            if not records or time.monotonic() > enough:
                return values


async def wait_outcome(acknowledgement: asyncio.Future[Any]) -> Exception | None:
    """None once the broker has it, else what became of it."""
    try:
        await acknowledgement
    except Exception as error:  # noqa: BLE001 - the outcome of one message, given to `settle`
        return judge(error)
    return None


def judge(error: Exception) -> Exception:
    """Rejected where sending again can't help, else the error."""
    from aiokafka import errors  # noqa: PLC0415 - as above

    hopeless = (errors.MessageSizeTooLargeError, errors.InvalidTopicError, errors.InvalidMessageError)
    return Rejected(str(error)) if isinstance(error, hopeless) else error


def silence_clients(thread: int) -> None:
    """Keep what aiokafka and asyncio log in our thread, and only there, out of the job's output."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in {"aiokafka", "asyncio"}]
    for logger in map(logging.getLogger, names):
        if not any(isinstance(known, NotFrom) and known.thread == thread for known in logger.filters):
            logger.addFilter(NotFrom(thread))


class NotFrom(logging.Filter):
    """Lets through what other threads log."""

    def __init__(self, thread: int) -> None:
        super().__init__()
        self.thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether another thread logged it."""
        return record.thread != self.thread
