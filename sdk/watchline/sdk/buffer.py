"""The bounded memory between the job and the background thread."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from watchline.sdk.message import EXPIRED, Counters, Message, Rank
from watchline.sdk.queue import RankedQueue

FULL = "buffer_full"
Store = Callable[[list[Message]], tuple[list[Message], str]]
"""Keeps messages for good; returns those that it kept, and why not the others."""


class Buffer:
    """Messages in order, at most `max_events` of them and `max_bytes` together; every one is accounted for.

    Its lock is reentrant: a signal handler or a finaliser may emit while this thread is emitting.
    """

    def __init__(self, *, max_events: int, max_bytes: int) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._changed = threading.Condition(threading.RLock())
        self._queue = RankedQueue()
        self._in_flight: dict[Message, None] = {}
        self._bytes = 0
        self._emitted = self._acknowledged = self._spooled = self._resent = 0
        self._leaving = 0  # on their way to the disk
        self._dropped: Counter[str] = Counter()

    def put(self, message: Message) -> None:
        """Queue a message; with no room, drop what matters least: an older one of lower rank, else this one."""
        with self._changed:
            self._emitted += 1
            while self._is_full(message) and self._evict_below(message.rank):
                pass
            if self._is_full(message):
                self._drop(FULL, 1)
                return
            self._queue.append(message)
            self._bytes += message.size

    def refuse(self, reason: str) -> None:
        """Account for an event that never became a message."""
        with self._changed:
            self._emitted += 1
            self._dropped[reason] += 1

    def take(self, limit: int) -> list[Message]:
        """The next messages in order; they stay pending until settled or put back."""
        with self._changed:
            taken = self._queue.take(limit)
            self._in_flight.update(dict.fromkeys(taken))
            return taken

    def settle(self, message: Message, dropped: str | None = None) -> None:
        """Account for a message in flight: acknowledged, or dropped for a reason. One no longer ours is ignored."""
        with self._changed:
            if message not in self._in_flight:
                return
            del self._in_flight[message]
            self._bytes -= message.size
            if dropped is None:
                self._acknowledged += 1
            else:
                self._dropped[dropped] += 1
            self._changed.notify_all()

    def acknowledge(self, messages: Iterable[Message]) -> None:
        """Account for messages in flight that have arrived."""
        with self._changed:
            for message in messages:
                self.settle(message)

    def put_back(self) -> None:
        """Return what is in flight to the front of the queue, in order."""
        with self._changed:
            self._queue.put_first(self._in_flight)
            self._in_flight.clear()

    def spool(self, store: Store, *, last: bool = True) -> bool:
        """Give all that is pending to `store`; whether it kept everything.

        What it did not keep waits in memory again, or is dropped where this is the `last` chance. Heartbeats are
        dropped: by the time they are read they say nothing. `store` runs without the lock, because a disk may be slow
        and `put` must not be.
        """
        lasting = self._take_lasting()
        kept, reason = store(lasting) if lasting else ([], "")
        stored = set(kept)
        left = [message for message in lasting if message not in stored]
        with self._changed:
            self._leaving -= len(lasting)
            self._spooled += len(kept)
            if last:
                self._drop(reason, len(left))
            else:
                self._take_again(left)
            self._changed.notify_all()
        return not left

    def _take_again(self, messages: list[Message]) -> None:
        """In front of what has come since, as far as there is room."""
        self._queue.put_first(messages)
        self._bytes += sum(message.size for message in messages)
        while self._queue and (self._held > self._max_events or self._bytes > self._max_bytes):
            if not self._evict_below(Rank.END):
                self._bytes -= self._queue.take_last().size
                self._drop(FULL, 1)

    def _take_lasting(self) -> list[Message]:
        with self._changed:
            waiting = [*self._in_flight, *self._queue.take(len(self._queue))]
            self._in_flight.clear()
            self._bytes = 0
            lasting = [message for message in waiting if message.rank is not Rank.HEARTBEAT]
            self._drop(EXPIRED, len(waiting) - len(lasting))
            self._leaving += len(lasting)
            return lasting

    def count_resent(self, messages: Iterable[Message]) -> None:
        """Account for messages of earlier processes that were acknowledged."""
        with self._changed:
            self._resent += sum(1 for _ in messages)

    def wait_empty(self, seconds: float, *, hopeless: Callable[[], bool]) -> bool:
        """Wait until nothing is pending; False after `seconds`, or as soon as `hopeless` says so."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while self._held:
                left = deadline - time.monotonic()
                if left <= 0 or hopeless():
                    return False
                self._changed.wait(left)
            return True

    def wait_settled(self, seconds: float) -> None:
        """Wait until nothing is in flight, at most `seconds`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._in_flight, seconds)

    def notify(self) -> None:
        """Let those who wait look again."""
        with self._changed:
            self._changed.notify_all()

    def counters(self) -> Counters:
        """The account at this moment."""
        with self._changed:
            return Counters(
                emitted=self._emitted,
                acknowledged=self._acknowledged,
                spooled=self._spooled,
                pending=self._held + self._leaving,
                dropped=dict(self._dropped),
                resent=self._resent,
            )

    @property
    def _held(self) -> int:
        return len(self._queue) + len(self._in_flight)

    def _is_full(self, message: Message) -> bool:
        return self._held >= self._max_events or self._bytes + message.size > self._max_bytes

    def _evict_below(self, rank: Rank) -> bool:
        message = self._queue.take_below(rank)
        if message is None:
            return False
        self._bytes -= message.size
        self._drop(FULL, 1)
        return True

    def _drop(self, reason: str, count: int) -> None:
        if count:
            self._dropped[reason] += count
