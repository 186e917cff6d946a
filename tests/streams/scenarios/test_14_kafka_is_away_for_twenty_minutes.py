"""Scenario 14: Kafka is away for 20 minutes in which many slots pass; then all events come within 30 seconds.

Every five minutes stands for the sixty jobs: each has its own row.
"""

from __future__ import annotations

from datetime import timedelta

from folds.log import Log, started
from folds.schedules import MINUTE, pulses, scheduled, states, utc, watched

SIX, SECOND = utc("2026-12-01 06:00"), timedelta(seconds=1)
JOB = scheduled("*/5 * * * *", grace_seconds=60)


def outage() -> Log:
    """Regular until 06:00, then the next pulse is that of 06:20."""
    log = watched(JOB, SIX - 6 * MINUTE)
    log.append(started("before", SIX - 5 * MINUTE))
    pulses(log, SIX - 5 * MINUTE, SIX)
    log.append(started("six", SIX))
    log.pulse(SIX + 20 * MINUTE)
    return log


def test_the_first_pulse_after_the_gap_decides_nothing() -> None:
    log = outage()

    assert set(states(log)) == {"met", "expected"}


def test_starts_that_come_while_it_settles_meet_their_slots_by_event_time() -> None:
    log = outage()

    log.append(*(started(n, SIX + n * 5 * MINUTE + (3 * MINUTE if n == 2 else SECOND)) for n in (1, 2, 3)))
    pulses(log, SIX + 20 * MINUTE + 30 * SECOND, SIX + 24 * MINUTE)

    assert states(log)[1:5] == ["met", "met", "late", "met"]
    assert log.transitions("missed_start") == ["opened"]  # 06:20 itself: it came after the gap
    assert "unknown" not in states(log)


def test_what_is_not_heard_of_by_then_is_unknown_and_nobody_is_told() -> None:
    log = outage()
    log.append(started("after", SIX + 20 * MINUTE))

    pulses(log, SIX + 20 * MINUTE + 30 * SECOND, SIX + 24 * MINUTE)

    assert states(log)[2:] == ["unknown", "unknown", "unknown", "met", "expected"]
    assert log.incidents == []


def test_what_is_heard_of_later_still_finds_its_slot() -> None:
    log = outage()
    log.append(started("after", SIX + 20 * MINUTE))
    pulses(log, SIX + 20 * MINUTE + 30 * SECOND, SIX + 24 * MINUTE)

    log.append(started("outbox", SIX + 10 * MINUTE), started("slow", SIX + 7 * MINUTE))

    assert states(log)[2:5] == ["late", "met", "unknown"]
    assert log.incidents == []


def test_the_unknown_slots_are_listed_once() -> None:
    log = outage()
    pulses(log, SIX + 20 * MINUTE + 30 * SECOND, SIX + 22 * MINUTE + 30 * SECOND)
    listed = {due: slot for due, slot in log.slots.items() if slot.state == "unknown"}

    pulses(log, SIX + 23 * MINUTE, SIX + 40 * MINUTE)

    assert len(listed) == 3
    assert {due: log.slots[due] for due in listed} == listed
