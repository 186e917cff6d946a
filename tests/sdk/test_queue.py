"""The queue with ranks, beside a plain list that is searched."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from watchline.sdk.message import Message, Rank
from watchline.sdk.queue import RankedQueue

RANKS = st.sampled_from(list(Rank))


def message(rank: Rank) -> Message:
    return Message("t", b"k", b"v", rank)


class Compared(RuleBasedStateMachine):
    """Any order of calls gives what a list gives."""

    def __init__(self) -> None:
        super().__init__()
        self.queue = RankedQueue()
        self.listed: list[Message] = []

    @rule(rank=RANKS)
    def append(self, rank: Rank) -> None:
        new = message(rank)
        self.queue.append(new)
        self.listed.append(new)

    @rule(ranks=st.lists(RANKS, max_size=3))
    def put_first(self, ranks: list[Rank]) -> None:
        new = [message(rank) for rank in ranks]
        self.queue.put_first(new)
        self.listed[:0] = new

    @rule(limit=st.integers(0, 4))
    def take(self, limit: int) -> None:
        expected, self.listed = self.listed[:limit], self.listed[limit:]
        assert self.queue.take(limit) == expected

    @precondition(lambda self: self.listed)
    @rule()
    def take_last(self) -> None:
        assert self.queue.take_last() is self.listed.pop()

    @rule(rank=RANKS)
    def take_below(self, rank: Rank) -> None:
        below = sorted((item for item in self.listed if item.rank < rank), key=lambda item: item.rank)
        taken = self.queue.take_below(rank)
        assert taken is (below[0] if below else None)
        if taken is not None:
            self.listed.remove(taken)

    @invariant()
    def it_is_as_long(self) -> None:
        assert len(self.queue) == len(self.listed)


TestCompared = Compared.TestCase


def test_an_empty_queue_has_no_last_message() -> None:
    with pytest.raises(KeyError):
        RankedQueue().take_last()
