"""Batches for an agent, straight from its queue."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

from faust.streams import Stream
from faust.types import EventT
from mode.utils.times import Seconds, want_seconds

from watchline.streams.transport.offsets import SafeOffsets

POLL_SECONDS = 0.005


class BatchStream(Stream[Any]):
    """A stream whose `take_events` takes what is queued and acknowledges it when the agent is done with it.

    Defects of the stock stream: `take_events` and `async for` acknowledge in a `finally`, so an exception
    or a cancellation in the agent's body acknowledges, and loses, the whole batch; `take_events` moves
    every event through a second task and queue; and it waits for `within` even if there is nothing more to
    come.
    """

    unfinished: list[EventT[Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unfinished = []

    async def take_events(self, max_: int, within: Seconds = 0) -> AsyncGenerator[Sequence[EventT[Any]], None]:
        """Yield up to `max_` events at a time, in order within each partition, all of the present generation.

        `within` 0 takes what is there: large batches under load, no delay when idle. A batch that the agent
        did not finish comes again, first, when the agent is restarted.
        """
        self._finalized = True
        started = await self.maybe_start()
        queue: Any = cast(Any, self.channel).queue
        self.put_back(queue)
        consumer = cast(SafeOffsets, self.app.consumer)
        linger = want_seconds(within)
        try:
            while not self.should_stop:
                events = self.current(await collect(queue, max_, linger))
                if not events:
                    continue
                self.unfinished = events
                marker = consumer.begin(events)
                self.events_total += len(events)
                yield events
                self.unfinished = []
                consumer.finish(events, marker)
                await asyncio.sleep(0)  # a full queue never suspends: let commits and fetches in
        except StopAsyncIteration:
            return  # how a channel says that it was stopped
        finally:
            self._channel_stop_iteration(self.channel)
            if started:
                await self.stop()
                self.service_reset()

    def put_back(self, queue: Any) -> None:
        """Put what a former iteration left unfinished at the head of the queue."""
        pending: deque[EventT[Any]] = queue._queue
        pending.extendleft(reversed(self.unfinished))
        self.unfinished = []

    def current(self, events: list[EventT[Any]]) -> list[EventT[Any]]:
        """Those of the present generation; none while partitions are moved, as they will be read again."""
        if not self.app.flow_control.is_active():
            return []
        generation = self.app.consumer_generation_id
        return [event for event in events if event.message.generation_id == generation]


async def collect(queue: Any, max_: int, linger: float) -> list[EventT[Any]]:
    """Wait for one event, then take what is queued, for `linger` seconds at most."""
    events: list[EventT[Any]] = [await queue.get()]
    pending: deque[EventT[Any]] = queue._queue
    loop = asyncio.get_running_loop()
    deadline = loop.time() + linger
    while True:
        take = pending.popleft
        events.extend([take() for _ in range(min(max_ - len(events), len(pending)))])
        queue.maybe_endorse_pressure_drop()
        left = deadline - loop.time()
        if len(events) >= max_ or left <= 0:
            return events
        await asyncio.sleep(min(left, POLL_SECONDS))
