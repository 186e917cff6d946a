"""From a fetched chunk to the queue of an agent, without a coroutine per message."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, cast

from aiokafka.errors import ConsumerStoppedError
from faust.types import TP, ConsumerMessage, EventT
from mode import ServiceT

from watchline.streams.transport.offsets import SafeOffsets
from watchline.streams.transport.recovery import SafeRecovery

# How long one fetch waits in the consumer's thread when nothing comes; it bounds the wait at the door.
PATIENCE_SECONDS = 0.2
IDLE_SECONDS = 0.05


class FetchedRecord(Protocol):
    """What aiokafka's fetcher returns."""

    offset: int
    timestamp: int
    timestamp_type: int
    headers: Any
    key: bytes | None
    value: bytes | None
    serialized_key_size: int
    serialized_value_size: int


class BatchDelivery(SafeOffsets):
    """Hands fetched records on chunk by chunk.

    Defects of the stock loop (`Consumer._drain_messages`):

    1. Per message it starts four tasks and cancels three, takes a lock, and runs a chain of coroutines:
       about 85 µs. A chunk of raw bytes for one channel goes onto the channel's queue in one step; anything
       else takes the stock path.
    2. It notes the generation after the fetch, so what was fetched before a rebalance is handed on after
       it; and when the flow stops during a fetch it moves all positions, changelogs included, in the middle
       of a recovery. Here the whole step holds `door`, and a chunk of an earlier generation is thrown away:
       every stop of the flow is followed by a seek.
    3. The set of active partitions is shared with the fetch; when it is emptied meanwhile, the fetch
       returns *all* partitions. Here the fetch gets a copy.
    4. `highwater` is None for a moment after a rebalance, which breaks sensors. Nothing here asks for it.
    5. Changelog records pass two queues one by one (about 150 µs each). Here they are stored chunk by chunk.
    """

    reliefs: dict[TP, Callable[[], None]]  # one callback object per partition: queues tell them by identity

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.reliefs = {}
        super().__init__(*args, **kwargs)

    async def _drain_messages(self, fetcher: ServiceT) -> None:
        try:
            while not (self.should_stop or fetcher.should_stop):
                await asyncio.sleep(0)
                if not self.flow_active:
                    await self.wait(self.can_resume_flow)  # type: ignore[arg-type]  # mode's annotation is too narrow
                    continue
                async with self.door:
                    await self._fetch_and_deliver()
        except (ConsumerStoppedError, asyncio.CancelledError):
            if not self.app.should_stop:
                raise

    async def _fetch_and_deliver(self) -> None:
        generation = self.app.consumer_generation_id
        active = set(self._get_active_partitions())
        if not active:
            await asyncio.sleep(IDLE_SECONDS)
            return
        records = await self._getmany(active, PATIENCE_SECONDS)
        for tp, chunk in (records or {}).items():
            if self.app.consumer_generation_id != generation or not self.flow_active:
                return
            if chunk:
                await self._deliver(TP(tp.topic, tp.partition), chunk, generation)

    async def _deliver(self, tp: TP, chunk: Sequence[FetchedRecord], generation: int) -> None:
        recovery = self.app.tables.recovery  # type: ignore[attr-defined]  # not in the abstract TableManagerT
        if isinstance(recovery, SafeRecovery) and recovery.restores(tp):
            recovery.restore(tp, self._events(tp, chunk, generation))
            return
        queue = self._raw_queue(tp)
        if queue is None:
            await self._deliver_one_by_one(tp, chunk)
            return
        read = self._read_offset[tp]
        if read is not None and chunk[0].offset < read:
            chunk = [record for record in chunk if record.offset >= read]
        if chunk:
            self._enqueue(tp, queue, self._events(tp, chunk, generation))
            self._read_offset[tp] = chunk[-1].offset + 1

    def _raw_queue(self, tp: TP) -> Any:
        """The queue of the one channel that takes raw bytes from `tp`; None if there is no such channel."""
        channels = self.app.topics._tp_index.get(tp, ())  # type: ignore[attr-defined]  # the conductor's index
        if len(channels) != 1 or not self.app.topics.acks_enabled_for(tp.topic):
            return None
        (channel,) = channels
        return channel.queue if channel.value_type is bytes and channel.key_type is bytes else None

    def _events(self, tp: TP, chunk: Sequence[FetchedRecord], generation: int) -> list[EventT[Any]]:
        app, event = self.app, cast(Any, self.app.conf).Event
        events: list[EventT[Any]] = []
        for record in chunk:
            message = ConsumerMessage(
                tp.topic,
                tp.partition,
                record.offset,
                record.timestamp / 1000.0,
                record.timestamp_type,
                record.headers,
                record.key,
                record.value,
                None,
                record.serialized_key_size,
                record.serialized_value_size,
                tp,
                generation_id=generation,
            )
            message.refcount = 1
            events.append(event(app, record.key, record.value, record.headers, message))
        return events

    def _enqueue(self, tp: TP, queue: Any, events: list[EventT[Any]]) -> None:
        """Put all at once; a queue that is nearly full takes the partition out of the next fetches."""
        queue._queue.extend(events)
        queue._unfinished_tasks += len(events)
        queue._finished.clear()
        queue._wakeup_next(queue._getters)
        relief = self.reliefs.setdefault(tp, partial(self.on_buffer_drop, tp))
        if queue.in_pressure_high_state(relief):
            self.on_buffer_full(tp)

    async def _deliver_one_by_one(self, tp: TP, chunk: Sequence[FetchedRecord]) -> None:
        for record in chunk:
            message = self._to_message(tp, record)
            read = self._read_offset[tp]
            if read is not None and message.offset < read:
                continue
            if read and message.offset > read and self.app.topics.acks_enabled_for(message.topic):
                await self._add_gap(tp, read, message.offset - 1)
            await self.wait_first(self.callback(message), self.suspend_flow.wait())
            if not self.flow_active:
                return
            self._read_offset[tp] = message.offset + 1
