"""A clock that jumps: whatever it says, no flood of misses, and what it decided too early is taken back."""

from __future__ import annotations

from datetime import timedelta

from folds.log import Log, started
from folds.schedules import DAY, HOUR, MINUTE, pulses, scheduled, utc, watched
from watchline.streams.slots.book import LISTED

SIX = utc("2026-12-01 06:00")
HOURLY = scheduled("0 * * * *", grace_seconds=600)
EVERY_MINUTE = scheduled("* * * * *", grace_seconds=60)


def working(hours: int) -> Log:
    """Runs in time from six on."""
    log = watched(HOURLY, SIX - MINUTE)
    for n in range(hours):
        log.append(started(n, SIX + n * HOUR))
        pulses(log, SIX + n * HOUR, SIX + n * HOUR + 59 * MINUTE)
    return log


def test_ten_days_ahead_miss_nothing_and_a_bounded_number_is_unknown() -> None:
    log = watched(EVERY_MINUTE, SIX)

    pulses(log, SIX + 10 * DAY, SIX + 10 * DAY + 3 * MINUTE)

    missed = [due for due, slot in log.slots.items() if slot.state == "missed"]
    assert all(due >= SIX + 10 * DAY for due in missed)
    assert log.transitions("missed_start") in ([], ["opened"])
    assert len(log.slots) < LISTED + 10


def test_after_ten_days_ahead_were_put_right_the_next_slot_counts_again() -> None:
    log = working(3)
    pulses(log, SIX + 10 * DAY, SIX + 10 * DAY + HOUR)

    pulses(log, SIX + 3 * HOUR + 2 * MINUTE, SIX + 4 * HOUR + 30 * MINUTE)

    assert log.slots[SIX + 4 * HOUR].state == "missed"
    assert log.slots[SIX + 2 * HOUR].state == "met"
    assert log.transitions("missed_start") == ["opened"]


def test_an_hour_back_misses_no_slot_that_was_met() -> None:
    log = working(3)

    pulses(log, SIX + 2 * HOUR, SIX + 3 * HOUR - MINUTE)

    assert [log.slots[SIX + n * HOUR].state for n in range(3)] == ["met"] * 3
    assert log.incidents == []


def test_what_a_clock_an_hour_ahead_missed_can_still_be_met() -> None:
    log = working(3)
    pulses(log, SIX + 3 * HOUR, SIX + 3 * HOUR + 30 * MINUTE)
    ahead = log.slots[SIX + 3 * HOUR].state

    pulses(log, SIX + 2 * HOUR + 40 * MINUTE, SIX + 3 * HOUR)
    taken_back = log.transitions("missed_start")
    log.append(started("late", SIX + 3 * HOUR + timedelta(seconds=1)))
    pulses(log, SIX + 3 * HOUR + MINUTE, SIX + 3 * HOUR + 30 * MINUTE)

    assert ahead == "missed"
    assert taken_back == ["opened", "resolved"]
    assert log.slots[SIX + 3 * HOUR].state == "met"
    assert log.transitions("missed_start") == ["opened", "resolved"]


def test_two_workers_whose_clocks_disagree_by_an_hour_decide_nothing() -> None:
    log = watched(EVERY_MINUTE, SIX)

    for n in range(60):
        log.pulse(SIX + n * MINUTE)
        log.pulse(SIX + n * MINUTE - HOUR)

    assert log.incidents == []
