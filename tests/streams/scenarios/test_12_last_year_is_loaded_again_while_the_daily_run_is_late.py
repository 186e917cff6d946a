"""Scenario 12: 400 daily partitions of last year are loaded again, while the daily run does not come."""

from __future__ import annotations

from dataclasses import replace

from folds.log import Log, ended, identity, started
from folds.schedules import DAY, HOUR, MINUTE, pulses, reach, tell, times, utc, watched
from watchline.streams.declarations import Declared
from watchline.streams.instants import to_micros

NINE = utc("2026-12-01 09:00")
DAILY = Declared(
    complete_by=times("0 9 * * *", "UTC", 1), done_by=times("0 9 * * *"), first_declared_at=to_micros(NINE - 400 * DAY)
)


def backfilled() -> Log:
    log = watched(DAILY, NINE - 10 * HOUR)
    reach(log, NINE - 33 * HOUR)  # up to the day before yesterday
    for n in range(400):
        begun = NINE - 10 * HOUR + n * 1.5 * MINUTE
        tell(log, started(n, begun, backfill=True, nominal_at=NINE - (365 + n) * DAY))
        tell(log, ended(n, begun + 1.5 * MINUTE, inserts=1_000, backfill=True, duration_ms=90_000))
        log.pulse(begun + 1.5 * MINUTE)
    pulses(log, NINE, NINE + MINUTE)
    return log


def test_the_day_that_is_missing_and_the_run_that_did_not_come_are_told_all_the_same() -> None:
    log = backfilled()

    assert [(it.kind, it.transition, it.at) for it in log.incidents] == [
        ("freshness", "opened", NINE), ("timeliness", "opened", NINE)
    ]  # fmt: skip


def test_it_teaches_nothing_and_is_marked() -> None:
    log = backfilled()

    assert log.row.baselines == {}
    assert log.anomalies == []
    assert all(log.newest(n).backfill for n in (0, 399))


def test_the_daily_run_ends_both() -> None:
    log = backfilled()

    pulses(log, NINE + MINUTE, NINE + HOUR)
    tell(log, ended("daily", NINE + HOUR, inserts=1_000))
    reach(log, NINE - 9 * HOUR)
    log.pulse(NINE + HOUR + MINUTE)

    assert [(it.kind, it.resolve_reason) for it in log.incidents[2:]] == [
        ("timeliness", "arrived_late"), ("freshness", "recovered")
    ]  # fmt: skip
    assert log.incidents[2].run_id == identity("daily")


def test_with_nothing_due_it_makes_no_sound() -> None:
    log = watched(replace(DAILY, complete_by=None, done_by=None), NINE - HOUR)

    tell(log, started(1, NINE, backfill=True), ended(1, NINE + MINUTE, "failed", backfill=True))
    pulses(log, NINE, NINE + HOUR)

    assert log.incidents == []
