"""The Kafka transport, registered under a URL scheme of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, cast

import aiokafka
from faust.transport.drivers import TRANSPORTS
from faust.transport.drivers import aiokafka as stock
from faust.types import TP
from mode import Service

from watchline.schemas.failpoints import failpoint
from watchline.streams.transport.delivery import BatchDelivery
from watchline.streams.transport.healing import Records
from watchline.streams.transport.producer import SafeProducer

SCHEME = "watchline"
READ_SECONDS = 30.0


class ConsumerThread(stock.AIOKafkaConsumerThread):
    """The consumer's thread.

    Defects of the stock thread: the time a broker may hold back an answer is fixed at 1.5 s, which the
    embedded broker uses up even when records arrive; and a seek to the committed offsets leaves partitions
    without a commit wherever the fetcher was, so what had been fetched and cleared before the first commit
    is never read.
    """

    def _create_worker_consumer(self, transport: stock.Transport) -> aiokafka.AIOKafkaConsumer:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = getattr(self.app, "fetch_wait_ms", 500)  # read when the consumer starts
        return consumer

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Seek every assigned partition to its committed offset, sources without one to the beginning."""
        offsets: Mapping[TP, int] = await self.call_thread(self._seek_to_committed)
        return offsets

    async def _seek_to_committed(self) -> Mapping[TP, int]:
        consumer = self._ensure_consumer()
        offsets: Mapping[TP, int] = await consumer.seek_to_committed()
        fresh = [tp for tp, offset in offsets.items() if not offset and self.app.topics.acks_enabled_for(tp.topic)]
        if fresh:
            await consumer.seek_to_beginning(*fresh)
        return offsets

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: the stock check needs a monitor's figures per event, and compares two different clocks."""


class Consumer(BatchDelivery, stock.Consumer):
    """The consumer of our transport."""

    def _new_consumer_thread(self) -> ConsumerThread:
        return ConsumerThread(self, loop=self.loop, beacon=self.beacon)

    @asynccontextmanager
    async def _reader(self) -> AsyncIterator[aiokafka.AIOKafkaConsumer]:
        """A connection for a moment: fetches and commits wait for each other in the consumer's thread as it is."""
        client = cast(ConsumerThread, self._thread)._create_client_consumer(cast(stock.Transport, self.transport))
        await client.start()
        try:
            yield client
        finally:
            await client.stop()

    async def ends_of(self, partitions: Collection[TP]) -> Mapping[TP, int]:
        """Where partitions end, ours or not. Raises TimeoutError, and what aiokafka raises."""
        async with asyncio.timeout(READ_SECONDS), self._reader() as client:
            ends: Mapping[TP, int] = await client.end_offsets(list(partitions))
        return ends

    async def read_range(self, tp: TP, offsets: range) -> AsyncGenerator[Records, None]:
        """Keys and values of a range, oldest first, in chunks; `tp` need not be ours.

        Raises TimeoutError when the broker gives no more, and what aiokafka raises.
        """
        async with self._reader() as client:
            client.assign([tp])
            client.seek(tp, offsets.start)
            deadline = monotonic() + READ_SECONDS
            while await client.position(tp) < offsets.stop:
                if monotonic() > deadline:
                    raise TimeoutError(f"{tp.topic} {tp.partition} gave no more within {READ_SECONDS:.0f} s")
                for chunk in (await client.getmany(timeout_ms=200)).values():
                    yield [(record.key, record.value) for record in chunk if record.offset < offsets.stop]

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        failpoint("F5")  # finished, not committed: read again
        done: bool = await super()._commit(offsets)
        failpoint("F6")  # committed: not read again
        return done


class Transport(stock.Transport):
    """Kafka by aiokafka, with everything of this package."""

    Consumer = Consumer
    Producer = SafeProducer

    async def _really_create_topic(
        self, owner: Service, client: aiokafka.client.AIOKafkaClient, topic: str, *args: Any, **kwargs: Any
    ) -> None:
        """Make a topic unless it exists.

        Defect of the stock transport: it looks only at the topics that its client has used so far, so it asks for
        those that exist too, and a worker that may not create topics ends.
        """
        if topic not in (await client.fetch_all_metadata()).topics():
            await super()._really_create_topic(owner, client, topic, *args, **kwargs)


def register() -> None:
    """Make `watchline://host:port` a broker URL; must be called before an App is made."""
    TRANSPORTS.aliases[SCHEME] = f"{Transport.__module__}:{Transport.__qualname__}"
