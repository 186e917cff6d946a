"""Reading the streams' topics: the consumer, and which partitions are ours by the word of Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeVar

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import (
    AuthenticationFailedError,
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
)

from watchline.consumers.sink.offsets import Advance, Claim, Place
from watchline.consumers.sink.persistence import Stopped
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.failpoints import failpoint

log = structlog.get_logger(__name__)
T = TypeVar("T")
STOP_SECONDS = 5.0
PATIENCE_SECONDS = 1.0  # a store that takes longer than this gets its partitions paused and polled meanwhile
HEARTBEATS_A_SESSION = 3


class TakesOver(Protocol):
    """What takes partitions over: the writer."""

    def claim(self, places: Iterable[Place], *, owner: str) -> Awaitable[dict[Place, Claim]]: ...


class Claims(ConsumerRebalanceListener):  # type: ignore[misc] # aiokafka has no types
    """The partitions that the group gave us, and the fences of those that Postgres has given us too.

    The listener only notes what the group says, for aiokafka swallows what a listener raises; the loop takes the
    partitions over. Nothing needs draining at a revoke: taking over waits for our transaction in flight.
    """

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.waiting: set[TopicPartition] = set()
        self.fences: dict[TopicPartition, int] = {}

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # noqa: ARG002 - aiokafka's
        failpoint("P6")  # the transaction in flight ends, or its fence is lost
        self.waiting.clear()
        self.fences.clear()

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        self.fences.clear()
        self.waiting = set(assigned)

    async def settle(self, consumer: AIOKafkaConsumer, writer: TakesOver) -> None:
        """Take over what the group gave us and read on from where Postgres stands."""
        taking = {(one.topic, one.partition): one for one in self.waiting}
        if not taking:
            return
        claims = await writer.claim(taking, owner=self.owner)
        for place, claim in claims.items():
            partition = taking[place]
            if partition in self.waiting:  # else the group has taken it back meanwhile
                # Below the oldest record means from the oldest: the reset policy is `earliest`.
                consumer.seek(partition, claim.next_offset or 0)
                self.fences[partition] = claim.fence
                self.waiting.discard(partition)
        log.info("partitions.taken", count=len(claims), owner=self.owner)

    def ours(self, fetched: dict[TopicPartition, list[Any]]) -> dict[TopicPartition, list[Any]]:
        """What was fetched from partitions taken over; the rest was read before its seek and comes again."""
        return {partition: records for partition, records in fetched.items() if partition in self.fences}

    def advances(self, fetched: dict[TopicPartition, list[Any]]) -> list[Advance]:
        """Where the partitions stand once all of `fetched` is stored."""
        return [
            Advance(one.topic, one.partition, records[-1].offset + 1, self.fences[one])
            for one, records in sorted(fetched.items())
        ]

    def moved_on(self, places: Iterable[Place]) -> bool:
        """Whether the group itself took the partitions away, so that a lost fence is no surprise."""
        return not any(TopicPartition(*place) in self.fences for place in places)


@asynccontextmanager
async def joined(settings: SinkSettings, claims: Claims) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer in the sink's group; leaves the group at the end. A wrong address fails here and says which."""
    consumer = AIOKafkaConsumer(
        **settings.kafka.client_arguments(),
        client_id="watchline-sink",
        group_id=settings.topics.sink_group,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=round(settings.session_timeout_seconds * 1000),
        heartbeat_interval_ms=round(settings.session_timeout_seconds * 1000 / HEARTBEATS_A_SESSION),
        rebalance_timeout_ms=round(settings.rebalance_timeout_seconds * 1000),
        fetch_max_wait_ms=settings.fetch_wait_ms,
    )
    consumer.subscribe(settings.topics.outputs, listener=claims)
    try:
        try:
            await consumer.start()
        except (AuthenticationFailedError, GroupAuthorizationFailedError, TopicAuthorizationFailedError) as error:
            raise Misconfigured(f"Kafka refuses us: {error}", hint="check WATCHLINE_KAFKA_*") from error
        except KafkaError as error:
            raise Unavailable(
                f"no Kafka at {settings.kafka.bootstrap_servers}: {error}",
                hint="is it running at the address in WATCHLINE_KAFKA_BOOTSTRAP_SERVERS?",
            ) from error
        yield consumer
    finally:
        await consumer.stop()


async def polling_meanwhile(consumer: AIOKafkaConsumer, work: Coroutine[Any, Any, T], stop: asyncio.Event) -> T:
    """The result of `work`; while it takes long, partitions are paused and polled, so the group keeps us.

    Work that still goes on some seconds after `stop` is set is given up (its transaction rolls back): Stopped.
    """
    task = asyncio.ensure_future(work)
    grace = STOP_SECONDS
    try:
        while not (await asyncio.wait({task}, timeout=PATIENCE_SECONDS))[0]:
            consumer.pause(*consumer.assignment())
            await consumer.getmany(timeout_ms=0)
            grace -= PATIENCE_SECONDS if stop.is_set() else 0
            if grace < 0:
                raise Stopped
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        consumer.resume(*consumer.paused())


async def report_offsets(consumer: AIOKafkaConsumer, advances: list[Advance]) -> None:
    """Tell Kafka as well where we are, for lag tools only: what counts is in Postgres."""
    offsets = {TopicPartition(one.topic, one.partition): one.next_offset for one in advances}
    try:
        await consumer.commit(offsets)
    except KafkaError as error:
        log.info("offsets.unreported", error=type(error).__name__)
