"""Scenario 10: attempts 1 and 2 fail, attempt 3 succeeds; the deadline passes during attempt 2."""

from __future__ import annotations

from folds.log import Log, ended, identity, started
from folds.schedules import HOUR, MINUTE, pulses, tell, times, utc, watched
from watchline.schemas.declaration import Retries
from watchline.streams.declarations import Declared
from watchline.streams.detection import unpack

NINE = utc("2026-12-01 09:00")
JOB = Declared(done_by=times("0 9 * * *"), retries=Retries(limit=2, wait_seconds=1800))


def three_attempts() -> Log:
    log = watched(JOB, NINE - HOUR)
    for attempt, begun, over, status in ((1, -50, -30, "failed"), (2, -20, 10, "failed"), (3, 20, 40, "succeeded")):
        begin, end = NINE + begun * MINUTE, NINE + over * MINUTE
        tell(log, started("a", begin, attempt=attempt))
        pulses(log, begin, end)
        tell(log, ended("a", end, status, attempt=attempt, started_at=begin))
        pulses(log, end, end + 10 * MINUTE)
    return log


def test_nobody_is_told_of_a_failure() -> None:
    assert three_attempts().transitions("failure") == []


def test_there_is_one_incident_of_the_deadline_until_the_third_attempt_succeeds() -> None:
    log = three_attempts()

    assert [(it.transition, it.at) for it in log.incidents] == [("opened", NINE), ("resolved", NINE + 40 * MINUTE)]
    assert {(it.kind, it.subject, it.run_id) for it in log.incidents} == {("timeliness", "deadline", identity("a"))}
    assert log.incidents[-1].resolve_reason == "arrived_late"


def test_only_the_third_attempt_teaches_how_long_it_takes() -> None:
    baseline = unpack(three_attempts().row.baselines["duration_seconds"])

    assert baseline.runs == 1


def test_each_attempt_is_published() -> None:
    published = [(run.attempt, run.status) for run in three_attempts().runs if run.status != "running"]

    assert published == [(1, "failed"), (2, "failed"), (3, "succeeded")]
