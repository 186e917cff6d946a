"""Sends the load at an even pace, whatever happens to the broker, and keeps a journal of the answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from faults.chaos.journal import Journal
from faults.chaos.load import Load, Record

TICK_SECONDS = 0.02
CATCH_UP = 2.0  # after a pause up to so many times the rate
MOST_UNANSWERED = 20_000
REQUEST_MS = 4_000
ANSWER_SECONDS = 120.0


class Writer:
    """A job's producer, plain on purpose: not idempotent, so that a lost answer leaves a record twice in the log."""

    def __init__(self, bootstrap_servers: str, load: Load, journal: Journal, *, rate: int) -> None:
        self._bootstrap_servers, self._load, self._journal, self._rate = bootstrap_servers, load, journal, rate
        self._producer: AIOKafkaProducer | None = None
        self.waited = 0.0  # seconds in which too much was unanswered to send more

    async def run(self, enough: asyncio.Event) -> None:
        """Send at the rate until `enough` is set, then wait for the last answers."""
        began, sent, burst = time.monotonic(), 0, int(self._rate * TICK_SECONDS * CATCH_UP)
        while not enough.is_set():
            due = int((time.monotonic() - began) * self._rate) - sent
            records = self._load.take(min(due, burst), datetime.now(UTC))
            sent += min(due, burst)
            await self.send(records)
            await asyncio.sleep(TICK_SECONDS)
        self._load.modes.clear()
        await self.send(self._load.take(0, datetime.now(UTC)))
        async with asyncio.timeout(ANSWER_SECONDS):
            while self._journal.pending:
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """A connection to send by, for as long as the block lasts."""
        async with self._make() as self._producer:
            yield
        self._producer = None

    async def send(self, records: Iterable[Record]) -> None:
        """Hand records over; the journal hears of each answer. Waits while too many are unanswered."""
        while self._journal.pending > MOST_UNANSWERED:
            self.waited += TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
        for record in records:
            await self._send(record)

    async def _send(self, record: Record) -> None:
        assert self._producer is not None
        self._journal.tried(record.identity)
        try:
            answer = await self._producer.send(record.topic, record.value, key=record.key)
        except KafkaError:
            self._journal.unknown(record.identity)
            return
        answer.add_done_callback(lambda done: self._note(record, done))

    def _note(self, record: Record, answer: asyncio.Future[Any]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            self._journal.unknown(record.identity)
            return
        place = answer.result()
        self._journal.acknowledged(record.identity, place.topic, place.partition, place.offset)

    def _make(self) -> AIOKafkaProducer:
        return AIOKafkaProducer(
            bootstrap_servers=self._bootstrap_servers, acks="all", linger_ms=5, request_timeout_ms=REQUEST_MS,
            retry_backoff_ms=100, metadata_max_age_ms=10_000,
        )  # fmt: skip
