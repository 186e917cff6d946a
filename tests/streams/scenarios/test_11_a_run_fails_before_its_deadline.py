"""Scenario 11: a run fails at 08:50, its deadline is 09:00."""

from __future__ import annotations

from folds.log import Log, ended, started
from folds.schedules import HOUR, MINUTE, pulses, tell, times, utc, watched
from watchline.streams.declarations import Declared

NINE = utc("2026-12-01 08:00")  # in Berlin


def failed_before() -> Log:
    log = watched(Declared(done_by=times("0 9 * * *", "Europe/Berlin")), NINE - HOUR)
    tell(log, started("a", NINE - 30 * MINUTE), ended("a", NINE - 10 * MINUTE, "failed", error={"message": "boom"}))
    pulses(log, NINE - HOUR, NINE + 20 * MINUTE)
    return log


def test_there_is_one_incident_and_it_notes_the_deadline_at_nine() -> None:
    opened, noted = failed_before().incidents

    assert (opened.kind, noted.kind, noted.incident_id) == ("failure", "failure", opened.incident_id)
    assert (noted.transition, noted.at) == ("updated", NINE)
    assert [(fact.name, fact.value) for fact in noted.facts] == [
        ("error", "boom"), ("deadline missed", "2026-12-01 09:00 Europe/Berlin (2026-12-01 08:00 UTC)")
    ]  # fmt: skip


def test_it_gets_no_worse_so_that_nobody_is_told_again() -> None:
    opened, noted = failed_before().incidents

    assert (opened.severity, noted.severity) == ("fail", "fail")


def test_a_failure_after_it_still_says_that_the_deadline_was_missed() -> None:
    log = failed_before()

    tell(log, ended("b", NINE + HOUR, "failed", error={"message": "again"}))

    assert [fact.name for fact in log.incidents[-1].facts] == ["error", "deadline missed"]


def test_the_success_that_follows_ends_it() -> None:
    log = failed_before()

    tell(log, ended("b", NINE + HOUR))

    assert [it.transition for it in log.incidents] == ["opened", "updated", "resolved"]
