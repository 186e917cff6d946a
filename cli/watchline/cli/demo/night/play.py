"""Playing the night on a started stack: chapter by chapter, each stored and told before the next one begins."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import asyncpg
from aiokafka import AIOKafkaProducer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from watchline.cli.console import err
from watchline.cli.demo.arrival import Arrival
from watchline.cli.demo.night.account import Place
from watchline.cli.demo.night.clock import on_the_wall
from watchline.cli.demo.night.script import PULSE, SETTLE, Script, chapters
from watchline.cli.demo.night.telling import Sent
from watchline.cli.demo.replay import send_events
from watchline.cli.dev.stack import Stack
from watchline.cli.settings import read_topics
from watchline.schemas import encode
from watchline.schemas.topics import PARTITIONS, Topics
from watchline.streams.instants import to_micros
from watchline.streams.pulses import encode_pulse

GROUP_WAIT_SECONDS = 1.5
# The time of the night is read from the log: ours are its only pulses, and what is old there is not too old to tell.
RHYTHM = {
    "WATCHLINE_INGESTION_ILL_SECONDS": "86400",  # its pulses are of a night long ago, which is no illness
    "WATCHLINE_PULSES": "0",
    "WATCHLINE_PULSE_SECONDS": str(PULSE.total_seconds()),
    "WATCHLINE_SETTLE_SECONDS": str(SETTLE.total_seconds()),
    "WATCHLINE_ALERT_MAX_AGE_SECONDS": str(timedelta(days=800).total_seconds()),
    "WATCHLINE_GROUP_WAIT_SECONDS": str(GROUP_WAIT_SECONDS),
    "WATCHLINE_GROUP_INTERVAL_SECONDS": "0",
    "WATCHLINE_INHIBIT_SETTLE_SECONDS": "600",
    "WATCHLINE_REPEAT_INTERVAL_SECONDS": "14400",
    "WATCHLINE_MESSAGES_PER_SECOND": "1000",
    "WATCHLINE_POLL_SECONDS": "0.1",
    "COLUMNS": "1000",  # the lines of a message are put together again before they are shown
}
# Where people are let hear of what there is: what opens and ends between two of these would be one message.
PAUSES = (
    "22:05", "22:20", "22:55", "23:28", "23:35", "00:20", "01:00", "02:15", "04:20", "04:34", "04:50", "06:30",
)  # fmt: skip
REACHED = "select count(*) from ingestion where log_epoch = $1 and pulse_at >= $2"
UNTOLD = "select count(*) from alert_outbox where state = 'pending'"


class Player:
    """Plays one script; afterwards `arrivals` says when the night brought each record, `places` where pipelines are."""

    def __init__(
        self, script: Script, stack: Stack, connection: asyncpg.Connection[Any], producer: AIOKafkaProducer
    ) -> None:
        self.arrivals: dict[Place, datetime] = {}
        self.places: dict[str, int] = {}
        self._script, self._stack = script, stack
        self._connection, self._producer = connection, producer
        self._arrival = Arrival(connection, [each.pipeline for each in script.declared], stack.check)

    async def play(self) -> None:
        """Declare all, then send each chapter, wait until it is stored, and until people have heard of it."""
        topics, script = read_topics(), self._script
        await send_events(self._producer, topics, script.declared, lambda _: None)
        await self._arrival.until(self._arrival.declared, len(script.declared), "pipelines declared")
        steps, pauses = script.steps(), [script.night.at(each) for each in PAUSES]
        columns = (TextColumn("{task.description:14}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=err) as progress:
            shown = progress.add_task("20:00", total=len(steps))
            for chapter in chapters(steps, pauses):
                await self._send(topics, chapter[:-1])  # the last pulse comes when all before it has been judged
                await self._until_stored(latest_pulse(chapter[:-1]))
                await self._send(topics, chapter[-1:])
                await self._until_stored(latest_pulse(chapter))
                await self._until_told()
                progress.update(shown, description=on_the_wall(latest_pulse(chapter)), advance=len(chapter))
        await self._arrival.until_caught_up(self._stack.servers.kafka, topics, self._stack.servers.epoch)
        await self._until_told()

    async def _send(self, topics: Topics, steps: Sequence[Sent | datetime]) -> None:
        sending = [(at_of(step), await self._hand_over(topics, step)) for step in steps]
        for (at, futures), step in zip(sending, steps, strict=True):
            for future in futures:
                placed = await future
                self.arrivals[placed.partition, placed.offset] = at
                if isinstance(step, Sent):
                    self.places[step.event.pipeline] = placed.partition

    async def _hand_over(self, topics: Topics, step: Sent | datetime) -> list[asyncio.Future[Any]]:
        """An event goes to the partition of its pipeline, a pulse to every one."""
        if isinstance(step, Sent):
            key = step.event.pipeline.encode()
            return [await self._producer.send(topics.runs, encode(step.event), key=key)]
        pulse = encode_pulse(to_micros(step))
        return [await self._producer.send(topics.runs, pulse, partition=number) for number in range(PARTITIONS)]

    async def _until_stored(self, pulse: datetime) -> None:
        async def stored() -> int:
            return int(await self._connection.fetchval(REACHED, self._stack.servers.epoch, pulse))

        await self._arrival.until(stored, PARTITIONS, f"partitions stored until {on_the_wall(pulse)}")

    async def _until_told(self) -> None:
        async def pending() -> int:
            return int(await self._connection.fetchval(UNTOLD))

        await self._arrival.until(pending, 0, "alerts that wait for the notifier")


def at_of(step: Sent | datetime) -> datetime:
    """The moment of the night at which the log takes a step."""
    return step.arrives if isinstance(step, Sent) else step


def latest_pulse(steps: Sequence[Sent | datetime]) -> datetime:
    """The newest pulse of a chapter."""
    return max(step for step in steps if isinstance(step, datetime))
