"""Scenario 9: every minute; paused on Friday evening, resumed on Monday at 12:00."""

from __future__ import annotations

from dataclasses import replace

from folds.log import Log
from folds.schedules import HOUR, MINUTE, declare, pulses, scheduled, utc, watched

FRIDAY, MONDAY = utc("2026-12-04 18:00"), utc("2026-12-07 12:00")
EVERY_MINUTE = scheduled("* * * * *", grace_seconds=120)


def weekend() -> Log:
    log = watched(EVERY_MINUTE, FRIDAY - HOUR)
    pulses(log, FRIDAY - HOUR, FRIDAY)  # it misses every start of that hour
    declare(log, replace(EVERY_MINUTE, active=False))
    pulses(log, FRIDAY + MINUTE, MONDAY - MINUTE, every=3 * MINUTE)
    declare(log, EVERY_MINUTE)
    log.pulse(MONDAY)
    return log


def test_what_is_open_is_closed_as_paused() -> None:
    log = weekend()

    assert log.incidents[-1].resolve_reason == "paused"
    assert log.incidents[-1].at == FRIDAY + MINUTE


def test_nothing_of_the_weekend_is_missed_and_the_first_slot_is_the_next_one() -> None:
    log = weekend()
    before = len(log.incidents)

    pulses(log, MONDAY, MONDAY + 3 * MINUTE)

    assert [due for due in sorted(log.slots) if FRIDAY + 2 * MINUTE <= due < MONDAY] == []
    assert log.slots[MONDAY + MINUTE].state == "missed"
    assert log.incidents[before].cause_at == MONDAY + 3 * MINUTE


def test_until_a_paused_until_every_slot_is_excused_and_none_is_told() -> None:
    log = watched(scheduled("0 * * * *", paused_until=MONDAY), FRIDAY)

    pulses(log, FRIDAY, MONDAY + 30 * MINUTE, every=3 * MINUTE)

    decided = [(due, slot.state) for due, slot in sorted(log.slots.items()) if due <= MONDAY]
    assert {state for due, state in decided if due < MONDAY} == {"excused"}
    assert decided[-1] == (MONDAY, "missed")
    assert log.transitions("missed_start") == ["opened"]
