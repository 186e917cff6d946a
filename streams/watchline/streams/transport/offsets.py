"""Which source offset may be committed, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any

import structlog
from faust.transport.consumer import Consumer
from faust.types import TP, EventT
from faust.types.transports import TPorTopicSet
from faust.types.tuples import Message
from mode.utils.futures import notify

from watchline.schemas.failpoints import failpoint

log = structlog.get_logger()
# A batch in hand when a rebalance begins is given this long to end at most.
SETTLE_SECONDS = 30.0
DOOR_SECONDS = 1.0
COMMIT_SECONDS = 10.0


class SafeOffsets(Consumer):
    """Commits what was finished, no more, and before it is forgotten.

    Three defects of the stock consumer:

    1. `on_partitions_revoked` drops the lists of acknowledged offsets first and commits afterwards, so
       every rebalance repeats everything since the last periodic commit. Here the flow is stopped, batches
       in hand end, and the commit is made before the lists go.
    2. `_new_offset` looks at acknowledged offsets only. In a group without a commit yet it takes the first
       run of them, even if an earlier message is still in hand. Here the lowest message in hand is a bound.
    3. One list entry, one index entry and one weak reference per event make bookkeeping a fifth of the
       cost. Batches of a `BatchStream` end in order, so one number per partition is enough.
    """

    finished: dict[TP, int]  # the next offset to commit, per partition
    moving: bool  # from the end of the settling to the next assignment: nothing is ours, nothing is finished
    door: asyncio.Lock  # held while records are fetched and handed on: whoever moves positions waits at it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.finished = {}
        self.moving = True
        self.door = asyncio.Lock()
        super().__init__(*args, **kwargs)

    def begin(self, events: Sequence[EventT[Any]]) -> Message:
        """Note a batch in hand; it counts as such for as long as the caller keeps the marker."""
        last = events[-1].message
        marker = Message(last.topic, last.partition, last.offset, last.timestamp, 0, None, None, None, None, tp=last.tp)
        self.unacked.add(marker)
        self.unacked.update(self.shared(events))
        return marker

    def finish(self, events: Sequence[EventT[Any]], marker: Message) -> None:
        """The batch has ended: its offsets may be committed, if the partitions are still ours."""
        marker.acked = True
        self.unacked.discard(marker)
        if not self.moving and events[0].message.generation_id == self.app.consumer_generation_id:
            self.finished.update({event.message.tp: event.message.offset + 1 for event in events})
        for message in self.shared(events):
            self.finished.pop(message.tp, None)
            message.ack(self)
        notify(self._waiting_for_ack)

    def shared(self, events: Sequence[EventT[Any]]) -> list[Message]:
        """Messages that several agents take: such are counted one by one, and done when the last agent is."""
        index = self.app.topics._tp_index  # type: ignore[attr-defined]  # the conductor's index
        several = {tp for tp in {event.message.tp for event in events} if len(index.get(tp, ())) > 1}
        return [event.message for event in events if event.message.tp in several] if several else []

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Settle first, then let Faust forget the partitions.

        Until then they are ours, and a batch in hand may write; after it a batch that did not end is nobody's,
        and its events are read again by whoever gets the partitions.
        """
        if revoked and not self.app.should_stop:
            await self.settle()
        failpoint("F8")  # batches in hand have ended
        self.moving = True
        await super().on_partitions_revoked(revoked)
        for tp in revoked:
            self.finished.pop(tp, None)

    def patience(self) -> float:
        """How long a rebalance may wait for us (s), well before the group goes on without us."""
        return min(SETTLE_SECONDS, float(self.app.conf.broker_rebalance_timeout) / 2)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """What is assigned is ours."""
        self.moving = False
        await super().on_partitions_assigned(assigned, generation_id)

    async def settle(self) -> None:
        """Stop the flow, empty the queues, wait for batches in hand and commit them."""
        deadline = monotonic() + self.patience()
        self.stop_flow()
        self.app.flow_control.suspend()
        self.app.flow_control.clear()
        await self.wait_at_door()
        self.app.flow_control.clear()
        while self._unacked_messages and monotonic() < deadline:
            await self._wait_for_ack(timeout=1)
        if self._unacked_messages:
            log.error("batch.given_up", seconds=self.patience(), then="its events are read again")
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self.commit()  # may only wait for a periodic commit that began before the last batch ended
                await self.commit()
        except TimeoutError:
            log.error("commit.unanswered", seconds=COMMIT_SECONDS, then="finished events are read again")

    async def wait_empty(self) -> None:
        """Wait for batches in hand to end and commit; not after a crash.

        The stock consumer waits then, too: for a batch that was given up, which never ends, and for a commit that the
        crashed consumer thread may never answer. What is finished and not committed is read again.
        """
        if self.app.crash_reason is None:
            await super().wait_empty()

    async def wait_at_door(self) -> None:
        """Wait until no fetch is under way.

        Bounded, because aiokafka lets a fetch that began during a rebalance wait for the next assignment;
        such a fetch is told by its generation and thrown away.
        """
        try:
            await asyncio.wait_for(self.door.acquire(), DOOR_SECONDS)
        except TimeoutError:
            return
        self.door.release()

    def _filter_tps_with_pending_acks(self, topics: TPorTopicSet | None = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        for tp in self.finished:
            if tp not in self._acked and (topics is None or tp in topics or tp.topic in topics):
                yield tp

    def _new_offset(self, tp: TP) -> int | None:
        if tp in self.finished:
            return self.finished[tp]
        in_hand = [m.offset for m in self._unacked_messages if m.tp == tp and not m.acked]
        if not in_hand:
            return super()._new_offset(tp)
        head, acked = min(in_hand), self._acked[tp]
        held = [offset for offset in acked if offset >= head]
        acked[:] = [offset for offset in acked if offset < head]
        try:
            return super()._new_offset(tp)
        finally:
            self._acked[tp].extend(held)
