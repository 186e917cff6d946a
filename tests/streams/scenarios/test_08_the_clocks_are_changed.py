"""Scenario 8: 02:30 and 09:00 in Berlin on the days when the clocks are changed."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from folds.log import Log, started
from folds.schedules import DAY, MINUTE, pulses, scheduled, utc, watched

SPRING, AUTUMN = utc("2027-03-27 12:00"), utc("2027-10-30 12:00")


def two_days(cron: str, begin: datetime, starts: list[str]) -> Log:
    """A log of two days in which runs start when cron starts them."""
    log = watched(scheduled(cron, "Europe/Berlin", grace_seconds=600), begin)
    at = begin
    for start in map(utc, starts):
        pulses(log, at, start - timedelta(seconds=1), every=3 * MINUTE)
        log.append(started(start, start))
        at = start
    pulses(log, at, begin + 2 * DAY, every=3 * MINUTE)
    return log


@pytest.mark.parametrize(
    ("what", "cron", "begin", "starts"),
    [
        ("the skipped hour gives one slot at the first instant after it",
         "30 2 * * *", SPRING, ["2027-03-28 01:00", "2027-03-29 00:30"]),
        ("the repeated hour gives one slot", "30 2 * * *", AUTUMN, ["2027-10-31 00:30", "2027-11-01 01:30"]),
        ("09:00 stays 09:00 after 23 hours", "0 9 * * *", SPRING, ["2027-03-28 07:00", "2027-03-29 07:00"]),
        ("09:00 stays 09:00 after 25 hours", "0 9 * * *", AUTUMN, ["2027-10-31 08:00", "2027-11-01 08:00"]),
    ],
)  # fmt: skip
def test_every_start_meets_its_slot_and_nothing_is_missed(
    what: str, cron: str, begin: datetime, starts: list[str]
) -> None:
    log = two_days(cron, begin, starts)

    met = [due for due, slot in sorted(log.slots.items()) if slot.state == "met"]
    assert met == list(map(utc, starts)), what
    assert [slot.state for _, slot in sorted(log.slots.items())] == ["met", "met", "expected"]
    assert log.transitions("missed_start") == []


def test_what_is_missed_on_such_a_day_is_told_in_the_time_of_that_day() -> None:
    log = two_days("0 9 * * *", SPRING, [])

    assert log.incidents[0].facts[0].value == "2027-03-28 09:00 Europe/Berlin (2027-03-28 07:00 UTC)"


def test_a_schedule_of_every_five_minutes_goes_on_over_the_change() -> None:
    log = watched(scheduled("*/5 * * * *", "Europe/Berlin", grace_seconds=60), utc("2027-03-28 00:30"))

    for n in range(1, 13):
        at = utc("2027-03-28 00:30") + n * 5 * MINUTE
        log.append(started(n, at))
        pulses(log, at, at + 4 * MINUTE)

    assert [slot.state for _, slot in sorted(log.slots.items())] == ["met"] * 12 + ["expected"]
