"""Snapshots and fences: a good history passes, a bad one does not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiokafka import TopicPartition

from faults.invariants.moments import Moment, Said, Standing, Tally, Write, atomic_visibility, fenced, fences_hold

STATE, INCIDENTS, LETTERS = (TopicPartition(name, 0) for name in ("state", "incidents", "letters"))
LOG = {
    STATE: [Said(0, "run", "a", "r1", 1), Said(1, "run", "a", "r2", 4), Said(2, "run", "a", "r1", 6)],
    INCIDENTS: [Said(0, "anomaly", "a", "x"), Said(1, "transition", "a", ("i", 1)), Said(2, "anomaly", "a", "x")],
    LETTERS: [Said(0, "letter", "", "runs/0/3"), Said(1, "letter", "", "runs/0/3")],
}
EMPTY = Moment((), {})
EARLY = Moment((Standing("state", 0, 1, 2),), {"a": Tally(2, 5)})
LATE = Moment(
    (Standing("state", 0, 1, 3), Standing("incidents", 0, 1, 3), Standing("letters", 0, 1, 2)),
    {"a": Tally(2, 10, anomalies=1, transitions=1)},
    letters=1,
)


def test_rows_that_are_those_below_the_offsets_agree_with_them() -> None:
    assert atomic_visibility([EMPTY, EARLY, LATE, LATE], LOG) == []


@pytest.mark.parametrize(
    "tally",
    [
        Tally(1, 4, 1, 1),  # a run is missing
        Tally(2, 5, 1, 1),  # a run is older than the offset says
        Tally(3, 10, 1, 1),  # a run is ahead of it
        Tally(2, 10, 0, 1),
        Tally(2, 10, 1, 0),
        Tally(2, 10, 1, 2),
    ],
)
def test_rows_behind_the_offsets_and_ahead_of_them_are_seen(tally: Tally) -> None:
    (wrong,) = atomic_visibility([EARLY, replace(LATE, tallies={"a": tally})], LOG)

    assert wrong.what.startswith("moment 1: of a ")


def test_an_end_that_the_sink_gave_may_stand_for_one_from_the_log() -> None:
    assert atomic_visibility([replace(LATE, tallies={"a": Tally(2, 10, 1, 0, superseded=1)})], LOG) == []


def test_dead_letters_that_are_not_those_of_the_log_are_seen() -> None:
    assert len(atomic_visibility([replace(LATE, letters=2)], LOG)) == 1


def test_rows_that_contradict_each_other_are_seen() -> None:
    (torn,) = atomic_visibility([replace(EMPTY, torn=("an alert without its transition: i",))], LOG)

    assert torn.what == "moment 0: an alert without its transition: i"


def write(fence: int, next_offset: int, writer: int) -> Write:
    return Write(STATE, fence, next_offset, writer)


def test_one_owner_after_the_other_is_fenced() -> None:
    assert fenced([write(1, 0, 7), write(1, 5, 7), write(2, 5, 8), write(2, 9, 8)]) == []


@pytest.mark.parametrize("late", [write(1, 9, 7), write(2, 9, 7), write(2, 4, 8)])
def test_a_former_owner_that_writes_and_an_offset_that_falls_are_seen(late: Write) -> None:
    assert [one.invariant for one in fenced([write(1, 5, 7), write(2, 5, 8), late])] == ["I19"]


def test_fences_and_offsets_of_snapshots_only_grow() -> None:
    assert fences_hold([EARLY, LATE]) == []
    assert len(fences_hold([LATE, EARLY])) == 1
