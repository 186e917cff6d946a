"""Each invariant about effects holds of a good history and sees what is wrong with a bad one."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from faults.invariants.effects import (
    Account,
    Letter,
    Origin,
    accounted,
    conservation,
    dead_letters_whole,
    one_effect,
    order_independent,
)
from faults.invariants.violations import SHOWN, assert_none

PLACE = TopicPartition("runs", 0)
ORIGIN = Origin("runs", 0, 7)
LETTER = Letter("not_json", b"k", b"\x00{", (("h", b"\xff"), ("h", None)))


def test_what_was_acknowledged_is_stored_or_set_aside_and_what_is_unknown_may_be_there() -> None:
    assert conservation({1, 2, 3}, {4, 5}, [1, 2, 4], [3]) == []


def test_an_acknowledged_event_that_is_nowhere_is_lost() -> None:
    (lost,) = conservation({1, 2}, set(), [1])

    assert str(lost) == "I1: acknowledged, and lost: 2"


def test_what_is_stored_and_was_never_sent_is_seen() -> None:
    (invented,) = conservation({1}, {2}, [1, 2, 3])

    assert "never sent: 3" in invented.what


def test_the_rows_of_the_oracle_in_any_order_are_one_effect_each() -> None:
    assert one_effect({1: "a", 2: "b"}, [(2, "b"), (1, "a")]) == []
    assert order_independent({1: "a", 2: "b"}, [(2, "b"), (1, "a")]) == []


@pytest.mark.parametrize("stored", [[(1, "a")], [(1, "a"), (2, "x")], [(1, "a"), (2, "b"), (2, "b")]])
def test_a_row_that_is_missing_other_or_there_twice_is_seen(stored: list[tuple[int, str]]) -> None:
    (wrong,) = one_effect({1: "a", 2: "b"}, stored)
    (changed,) = order_independent({1: "a", 2: "b"}, stored)

    assert " 2 " in wrong.what
    assert changed.invariant == "I13"


def test_a_row_that_should_not_be_there_is_seen() -> None:
    assert len(one_effect({}, [(1, "a")])) == 1


def test_of_many_violations_the_first_are_shown_and_the_others_counted() -> None:
    lost = conservation(set(range(1000)), set(), [])

    assert len(lost) == SHOWN + 1
    assert lost[-1].what == f"and {1000 - SHOWN} more"
    with pytest.raises(AssertionError, match="I1: acknowledged"):
        assert_none([], lost)


def test_a_dead_letter_with_reason_key_bytes_and_headers_is_whole() -> None:
    assert dead_letters_whole({ORIGIN: LETTER}, [(ORIGIN, LETTER)]) == []


@pytest.mark.parametrize(
    "stored",
    [
        [],
        [(ORIGIN, LETTER), (ORIGIN, LETTER)],
        [(ORIGIN, Letter("not_json", b"k", b"", LETTER.headers))],
        [(ORIGIN, Letter("not_json", None, LETTER.value, LETTER.headers))],
        [(ORIGIN, Letter("not_json", b"k", LETTER.value, LETTER.headers[:1]))],
        [(ORIGIN, Letter("too_large", b"k", LETTER.value, LETTER.headers))],
    ],
)
def test_a_dead_letter_that_is_lost_doubled_or_changed_is_seen(stored: list[tuple[Origin, Letter]]) -> None:
    assert [violation.invariant for violation in dead_letters_whole({ORIGIN: LETTER}, stored)] == ["I9"]


def test_every_offset_is_one_of_event_pulse_misplaced_and_dead() -> None:
    assert accounted({PLACE: Account(10, events=5, pulses=3, misplaced=1, dead=1)}) == []


def test_an_offset_that_nothing_became_of_is_seen() -> None:
    assert len(accounted({PLACE: Account(10, events=5, pulses=3, misplaced=1, dead=0)})) == 1
