"""Which slot a run came for."""

from __future__ import annotations

import pytest

from watchline.streams.instants import SECOND
from watchline.streams.rows import Run, Slot
from watchline.streams.slots.matching import meant_at, slot_for, take_start

HOUR, MINUTE = 3600 * SECOND, 60 * SECOND
HOURLY = [Slot(10 * HOUR), Slot(11 * HOUR), Slot(12 * HOUR)]
EVERY_MINUTE = [Slot(n * MINUTE) for n in range(3)]


def due_of(slots: list[Slot], at: int, *, early: int = MINUTE, attempt: int = 1) -> int | None:
    slot = slot_for(slots, at, early=early, attempt=attempt)
    return None if slot is None else slot.due


@pytest.mark.parametrize(
    ("what", "at", "due"),
    [
        ("on time", 11 * HOUR, 11 * HOUR),
        ("two seconds early", 11 * HOUR - 2 * SECOND, 11 * HOUR),
        ("as early as may be", 11 * HOUR - MINUTE, 11 * HOUR),
        ("too early for the next is late for the last", 11 * HOUR - MINUTE - 1, 10 * HOUR),
        ("long after the newest", 40 * HOUR, 12 * HOUR),
        ("before all of them", 9 * HOUR, None),
    ],
)
def test_a_start_belongs_to_the_newest_slot_or_a_little_early_to_the_next(what: str, at: int, due: int | None) -> None:
    assert due_of(HOURLY, at) == due, what


def test_of_two_slots_within_the_margin_the_nearer_one_counts() -> None:
    assert due_of(EVERY_MINUTE, 2 * SECOND) == 0
    assert due_of(EVERY_MINUTE, 58 * SECOND) == MINUTE


def test_a_further_attempt_comes_for_no_slot_that_is_not_due_yet() -> None:
    assert due_of(HOURLY, 11 * HOUR - 2 * SECOND, attempt=2) == 10 * HOUR


def test_what_stands_for_many_slots_takes_no_run_of_their_time() -> None:
    slots = [Slot(10 * HOUR, "unknown", until=15 * HOUR), Slot(16 * HOUR)]

    assert due_of(slots, 12 * HOUR) is None
    assert due_of(slots, 15 * HOUR + 1) == 10 * HOUR


def test_a_run_is_matched_by_its_nominal_time_and_judged_by_its_start() -> None:
    run, slot = Run(b"r" * 16, started_at=13 * HOUR, nominal_at=10 * HOUR), Slot(10 * HOUR)

    assert meant_at(run) == 10 * HOUR
    assert take_start(slot, run, grace=HOUR, at=0)
    assert (slot.state, slot.started_at) == ("late", 13 * HOUR)


def test_a_backfill_and_a_run_without_any_time_come_for_no_slot() -> None:
    assert meant_at(Run(b"r" * 16, started_at=HOUR, backfill=True)) is None
    assert meant_at(Run(b"r" * 16, nominal_at=HOUR)) is None


def test_of_two_runs_the_first_one_counts_in_whatever_order_they_are_read() -> None:
    first, second = Run(b"a" * 16, started_at=5), Run(b"b" * 16, started_at=6)

    slots = [Slot(0), Slot(0)]
    for slot, runs in zip(slots, ((first, second, first), (second, first, second)), strict=True):
        for run in runs:
            take_start(slot, run, grace=10, at=0)

    assert [slot.run_id for slot in slots] == [b"a" * 16] * 2


def test_the_end_of_the_grace_is_in_time() -> None:
    slots = [Slot(0), Slot(0)]

    take_start(slots[0], Run(b"a" * 16, started_at=10), grace=10, at=0)
    take_start(slots[1], Run(b"a" * 16, started_at=11), grace=10, at=0)

    assert [slot.state for slot in slots] == ["met", "late"]
