"""The bounded memory: nothing disappears from the account."""

from __future__ import annotations

import threading
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from watchline.sdk.buffer import Buffer
from watchline.sdk.message import Message, Rank


def message(rank: Rank = Rank.START, size: int = 10) -> Message:
    return Message("t", b"k", b"x" * (size - 1), rank)


class Account(RuleBasedStateMachine):
    """Any order of what can happen to a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = Buffer(max_events=5, max_bytes=100)
        self.flying: list[Message] = []

    @rule(rank=st.sampled_from(list(Rank)), size=st.integers(1, 60))
    def put(self, rank: Rank, size: int) -> None:
        self.buffer.put(message(rank, size))

    @rule()
    def refuse(self) -> None:
        self.buffer.refuse("unusable")

    @rule(limit=st.integers(0, 4))
    def take(self, limit: int) -> None:
        self.flying += self.buffer.take(limit)

    @rule(dropped=st.sampled_from([None, "rejected"]))
    def settle(self, dropped: str | None) -> None:
        if self.flying:
            self.buffer.settle(self.flying.pop(0), dropped)

    @rule()
    def put_back(self) -> None:
        self.buffer.put_back()
        self.flying.clear()

    @rule(keep=st.integers(0, 5), last=st.booleans())
    def spool(self, keep: int, last: bool) -> None:
        self.buffer.spool(lambda messages: (messages[:keep], "outbox_full"), last=last)

    @invariant()
    def it_adds_up(self) -> None:
        now = self.buffer.counters()
        assert now.emitted == now.acknowledged + now.spooled + now.pending + sum(now.dropped.values())
        assert 0 <= now.pending <= 5


TestAccount: Any = Account.TestCase


def test_heartbeats_make_room_for_ends_and_ends_for_nothing() -> None:
    buffer = Buffer(max_events=3, max_bytes=1000)
    start, beat, late_beat = message(), message(Rank.HEARTBEAT), message(Rank.HEARTBEAT)
    ends = [message(Rank.END) for _ in range(4)]

    for item in (start, beat, *ends[:2], late_beat, *ends[2:]):
        buffer.put(item)

    assert buffer.take(10) == ends[:3]
    assert buffer.counters().dropped == {"buffer_full": 4}


def test_what_is_put_back_comes_first_and_in_order() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    items = [message() for _ in range(5)]
    for item in items[:4]:
        buffer.put(item)

    buffer.take(3)
    buffer.put(items[4])
    buffer.put_back()

    assert buffer.take(10) == items


def test_a_late_acknowledgement_of_what_went_to_disk_is_not_counted_twice() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    buffer.put(message())
    (flying,) = buffer.take(1)

    buffer.spool(lambda messages: (messages, ""))
    buffer.settle(flying)

    assert (buffer.counters().spooled, buffer.counters().acknowledged) == (1, 0)


def test_heartbeats_do_not_go_to_disk() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    beat, end = message(Rank.HEARTBEAT), message(Rank.END)
    stored: list[Message] = []
    for item in (beat, end):
        buffer.put(item)

    def store(messages: list[Message]) -> tuple[list[Message], str]:
        stored.extend(messages)
        return messages, ""

    buffer.spool(store)

    assert stored == [end]
    assert buffer.counters().dropped == {"heartbeat_expired": 1}


def test_a_slow_disk_does_not_hold_up_the_job() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    writing, go_on = threading.Event(), threading.Event()

    def store(messages: list[Message]) -> tuple[list[Message], str]:
        writing.set()
        assert go_on.wait(30)
        return messages, ""

    buffer.put(message())
    thread = threading.Thread(target=buffer.spool, args=(store,))
    thread.start()
    assert writing.wait(30)
    buffer.put(message())
    during = buffer.counters()
    go_on.set()
    thread.join()

    assert (during.pending, during.spooled) == (2, 0)
    assert (buffer.counters().pending, buffer.counters().spooled) == (1, 1)


def test_what_the_disk_did_not_take_waits_in_front_of_what_came_meanwhile() -> None:
    buffer = Buffer(max_events=4, max_bytes=1000)
    kept, start, end, late = message(Rank.END), message(), message(Rank.END), [message(Rank.END) for _ in range(3)]
    for item in (kept, start, end):
        buffer.put(item)

    def store(messages: list[Message]) -> tuple[list[Message], str]:
        for item in late:
            buffer.put(item)
        return [kept], "outbox_failed"

    assert not buffer.spool(store, last=False)

    now = buffer.counters()
    assert (now.spooled, now.pending, now.dropped) == (1, 4, {"buffer_full": 1})
    assert buffer.take(10) == [end, *late]


def test_what_the_disk_did_not_take_at_the_last_chance_is_counted_as_lost() -> None:
    buffer = Buffer(max_events=4, max_bytes=1000)
    for _ in range(3):
        buffer.put(message())

    assert not buffer.spool(lambda messages: (messages[:1], "outbox_failed"))

    now = buffer.counters()
    assert (now.spooled, now.pending, now.dropped, now.lost) == (1, 0, {"outbox_failed": 2}, 2)


def test_waiting_ends_when_the_last_message_is_settled() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    buffer.put(message())
    (flying,) = buffer.take(1)
    threading.Timer(0.05, buffer.settle, (flying,)).start()

    assert buffer.wait_empty(30, hopeless=lambda: False)


def test_waiting_ends_when_it_is_hopeless() -> None:
    buffer = Buffer(max_events=10, max_bytes=1000)
    buffer.put(message())
    outcomes: list[bool] = []
    waiting = threading.Thread(target=lambda: outcomes.append(buffer.wait_empty(3600, hopeless=lambda: True)))

    waiting.start()
    waiting.join(30)

    assert outcomes == [False]
