"""Scenario 7: a clock that is two seconds off starts the 06:00 run at 05:59:58."""

from __future__ import annotations

from datetime import timedelta

from folds.log import started
from folds.schedules import HOUR, MINUTE, pulses, scheduled, states, utc, watched

SIX = utc("2026-12-01 06:00")
EARLY = SIX - timedelta(seconds=2)


def test_it_meets_the_slot_that_follows() -> None:
    log = watched(scheduled("0 6 * * *", grace_seconds=900), SIX - HOUR)

    log.append(started("a", EARLY))
    pulses(log, SIX - HOUR, SIX + HOUR)

    assert states(log) == ["met", "expected"]
    assert log.incidents == []


def test_without_a_margin_it_does_not() -> None:
    log = watched(scheduled("0 6 * * *", grace_seconds=900, early_seconds=0), SIX - HOUR)

    log.append(started("a", EARLY))
    pulses(log, SIX - HOUR, SIX + HOUR)

    assert states(log) == ["missed", "expected"]


def test_a_job_of_every_minute_that_is_always_early_meets_every_slot() -> None:
    log = watched(scheduled("* * * * *", grace_seconds=60), SIX - MINUTE)

    for n in range(30):
        log.append(started(n, EARLY + n * MINUTE))
        log.pulse(SIX + n * MINUTE)

    assert states(log) == ["met"] * 30 + ["expected"]
