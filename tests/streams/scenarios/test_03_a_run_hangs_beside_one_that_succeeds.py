"""Scenario 3: r1 starts at 10:00 and hangs, r2 runs from 10:30 to 10:40; the limit is an hour."""

from __future__ import annotations

from folds.log import Log, ended, identity, started
from folds.schedules import HOUR, MINUTE, pulses, utc
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND

TEN = utc("2026-12-01 10:00")
LIMITED = Declared(timeliness_limit=3600 * SECOND)


def morning() -> Log:
    log = Log(LIMITED)
    log.append(started("r1", TEN))
    pulses(log, TEN, TEN + 30 * MINUTE)
    log.append(started("r2", TEN + 30 * MINUTE))
    pulses(log, TEN + 31 * MINUTE, TEN + 40 * MINUTE)
    log.append(ended("r2", TEN + 40 * MINUTE))
    return log


def test_the_incident_is_that_of_the_run_that_hangs_and_comes_at_its_limit() -> None:
    log = morning()

    pulses(log, TEN + 41 * MINUTE, TEN + 59 * MINUTE)
    before = len(log.incidents)
    log.pulse(TEN + HOUR)

    assert before == 0
    assert [(it.kind, it.transition, it.subject, it.at) for it in log.incidents] == [
        ("timeliness", "opened", str(identity("r1")), TEN + HOUR)
    ]


def test_the_success_of_another_run_ends_nothing() -> None:
    log = morning()
    pulses(log, TEN + 41 * MINUTE, TEN + HOUR)

    log.append(started("r3", TEN + HOUR), ended("r3", TEN + HOUR + 10 * MINUTE))
    pulses(log, TEN + HOUR + 11 * MINUTE, TEN + 3 * HOUR)

    assert log.transitions("timeliness") == ["opened"]
    assert [(run.run_id, run.overdue) for run in log.row.open] == [(identity("r1").bytes, True)]


def test_its_rows_show_one_overdue_run_and_the_last_success() -> None:
    log = morning()

    pulses(log, TEN + 41 * MINUTE, TEN + HOUR)

    hung, done = log.newest("r1"), log.newest("r2")
    assert (hung.status, hung.overdue, hung.ended_at) == ("running", True, None)
    assert (done.status, done.overdue, done.ended_at) == ("succeeded", False, TEN + 40 * MINUTE)
