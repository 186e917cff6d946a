"""The sink as a service: one loop that reads, decodes, stores and remembers."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from uuid import uuid4

import structlog
from aiokafka import AIOKafkaConsumer

from watchline.consumers.sink.breakers import Breakers
from watchline.consumers.sink.consuming import Claims, joined, polling_meanwhile, report_offsets
from watchline.consumers.sink.folding import Folding
from watchline.consumers.sink.offsets import FenceLost
from watchline.consumers.sink.persistence import Persistence, Stopped
from watchline.consumers.sink.reading import decode_all, reading_ahead
from watchline.consumers.sink.settings import SinkSettings
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.failpoints import failpoint

log = structlog.get_logger(__name__)
POLL_MS = 200
REPORT_SECONDS = 1.0


async def run(settings: SinkSettings, stop: asyncio.Event) -> None:
    """Carry the streams' topics into Postgres until `stop` is set.

    Raises Misconfigured when waiting won't help (schema, permission, credentials) and Unavailable when Kafka can't be
    reached at the start, WatchlineError when most of a topic can't be read. Postgres may come and go.
    """
    claims = Claims(owner=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}")
    writer = Writer(
        settings.postgres_dsn.get_secret_value(),
        log_epoch=settings.log_epoch,
        alert_max_age=timedelta(seconds=settings.alert_max_age_seconds),
        command_timeout=settings.command_timeout_seconds,
    )
    try:
        while not stop.is_set():
            async with joined(settings, claims) as consumer:
                log.info("sink.joined", group=settings.topics.sink_group, owner=claims.owner)
                try:
                    await carry(consumer, claims, writer, settings, stop)
                except FenceLost as lost:
                    log.warning("fence.lost", places=lost.places, owner=claims.owner)
    except Stopped:
        log.info("batch.abandoned", reason="told to stop while waiting for Postgres; it is read again")
    finally:
        await writer.close()
        log.info("sink.stopped")


async def carry(
    consumer: AIOKafkaConsumer, claims: Claims, writer: Writer, settings: SinkSettings, stop: asyncio.Event
) -> None:
    """Fetch, decode, store rows and offsets in one transaction; a crash anywhere reads the batch again.

    In between, now and then, days of pipelines are counted anew that batches have touched.

    The next batch is read while one is stored; what was read ahead of a rebalance is dropped and read again.
    Raises FenceLost when another sink writes for a partition that the group still counts as ours: then we are the
    one who slept, and must join anew.
    """
    persistence = Persistence(writer, stop, settings.retry_max_seconds)
    breakers = Breakers(window=settings.breaker_window, share=settings.breaker_share)
    folding = Folding(writer)
    reported = 0.0
    async with reading_ahead(partial(read_batch, consumer, claims, settings)) as ahead:
        while not stop.is_set():
            if claims.waiting:
                await ahead.drop()  # it is read again: taking over goes back to where Postgres stands
                taking_over = persistence.until_done(partial(claims.settle, consumer, writer))
                await polling_meanwhile(consumer, taking_over, stop)
                continue
            batch = await ahead.take()
            if batch is None:
                await polling_meanwhile(consumer, folding.fold_when_due(load=0), stop)
                continue
            ahead.begin()
            began = time.monotonic()
            try:
                storing = persistence.until_done(partial(writer.store, batch))
                refused = await polling_meanwhile(consumer, storing, stop)
            except FenceLost as lost:
                if not claims.moved_on(lost.places):
                    raise
                log.info("batch.dropped", reason="the group gave the partitions to another sink")
                continue
            failpoint("P4")  # stored, and Postgres knows how far: nothing is stored twice
            report(batch, refused, time.monotonic() - began)
            breakers.note(batch.items)
            load = len(batch.items) / settings.batch_size
            await polling_meanwhile(consumer, folding.fold_when_due(load=load), stop)
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                await report_offsets(consumer, batch.advances)
                failpoint("P5")  # what Kafka was told counts for nothing


async def read_batch(consumer: AIOKafkaConsumer, claims: Claims, settings: SinkSettings) -> Batch | None:
    """What Kafka has for us now, decoded, in the order of offsets within each partition; None when that is nothing."""
    fetched = claims.ours(await consumer.getmany(timeout_ms=POLL_MS, max_records=settings.batch_size))
    if not fetched:
        return None
    failpoint("P1")  # fetched only: read again
    now, advances = datetime.now(UTC), claims.advances(fetched)  # under the fences of now, not those after decoding
    records = chain.from_iterable(fetched[partition] for partition in sorted(fetched))
    return Batch(await decode_all(records, now=now, log_epoch=settings.log_epoch), advances, read_at=now)


def report(batch: Batch, refused: int, seconds: float) -> None:
    """Say what was stored."""
    log.info(
        "batch.stored",
        records=len(batch.items),
        bad=sum(item.bad for item in batch.items),
        refused=refused,
        seconds=round(seconds, 4),
    )
