"""A worker that takes a partition over goes on by the clock that the one before has left."""

from __future__ import annotations

from copy import copy

from folds.log import Log
from folds.schedules import HOUR, MINUTE, REGULAR, pulses, scheduled, utc, watched

SIX = utc("2026-12-01 06:00")
DAILY = scheduled("0 6 * * *", grace_seconds=900)


def test_another_worker_goes_on_where_the_one_before_stood() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + 14 * MINUTE)

    other = Log(DAILY, REGULAR, rows=log.rows, offset=log.offset)
    other.pulse(SIX + 15 * MINUTE)

    assert other.transitions("missed_start") == ["opened"]


def test_another_worker_that_comes_too_late_knows_that_there_was_a_gap() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + 14 * MINUTE)

    other = Log(DAILY, REGULAR, rows=log.rows, offset=log.offset)
    pulses(other, SIX + 20 * MINUTE, SIX + HOUR)

    assert other.slots[SIX].state == "unknown"
    assert other.incidents == []


def test_another_worker_whose_first_batch_fails_still_knows_where_the_one_before_stood() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + 14 * MINUTE)
    other = Log(DAILY, REGULAR, rows=dict(log.rows), offset=log.offset)
    before, pulse = copy(other.desk.clock), other.record(SIX + 15 * MINUTE)

    other.take([pulse])
    other.rows = dict(log.rows)
    other.desk.reset(before)
    other.take([pulse])

    assert [it.transition for it in other.incidents] == ["opened", "opened"]
    assert other.incidents[0] == other.incidents[1]
