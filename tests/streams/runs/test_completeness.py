"""Data that has to be complete up to a day: "all of yesterday by 09:00 in Berlin"."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from folds.log import KEY, Log, ended
from folds.schedules import DAY, HOUR, MINUTE, declare, pulses, reach, tell, times, utc, watched
from watchline.schemas import Mute
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.runs.desk import Desk

NINE, MIDNIGHT = utc("2026-12-01 08:00"), utc("2026-11-30 23:00")  # in Berlin
BERLIN = Declared(complete_by=times("0 9 * * *", "Europe/Berlin", 1), first_declared_at=to_micros(NINE - 30 * DAY))


def morning(reached: datetime | None, declared: Declared = BERLIN) -> Log:
    """Watched until 08:59; the watermark stands at `reached`."""
    log = watched(declared, NINE - HOUR)
    if reached is not None:
        reach(log, reached)
    pulses(log, NINE - HOUR + MINUTE, NINE - MINUTE)
    return log


def test_at_nine_the_incident_opens_and_names_the_day_that_is_missing() -> None:
    log = morning(MIDNIGHT - MINUTE)

    pulses(log, NINE, NINE + HOUR)

    (opened,) = log.incidents
    assert (opened.kind, opened.severity, opened.at, opened.cause_at) == ("freshness", "fail", NINE, NINE)
    assert opened.title == "data of 2026-11-30 is not complete, due 2026-12-01 09:00 Europe/Berlin"
    assert opened.facts[0].value == "all of 2026-11-30 by 2026-12-01 09:00 Europe/Berlin (2026-12-01 08:00 UTC)"
    assert opened.facts[0].note == "watermark 2026-11-30 22:59:00 UTC"


def test_a_watermark_that_has_reached_midnight_is_in_time() -> None:
    log = morning(MIDNIGHT)

    pulses(log, NINE, NINE + HOUR)

    assert log.incidents == []


def test_it_ends_at_the_first_pulse_after_the_watermark_got_there() -> None:
    log = morning(MIDNIGHT - DAY)
    log.pulse(NINE)

    reach(log, MIDNIGHT - MINUTE)
    log.pulse(NINE + MINUTE)
    reach(log, MIDNIGHT)
    log.pulse(NINE + 2 * MINUTE)

    assert [(it.transition, it.at) for it in log.incidents] == [("opened", NINE), ("resolved", NINE + 2 * MINUTE)]


def test_the_next_day_missing_too_is_told_within_the_same_incident_and_no_worse() -> None:
    log = morning(MIDNIGHT - DAY)

    pulses(log, NINE, NINE + DAY, every=3 * MINUTE)

    assert log.transitions("freshness") == ["opened", "updated"]
    assert [it.severity for it in log.incidents] == ["fail", "fail"]
    assert str(log.incidents[-1].facts[0].value).startswith("all of 2026-12-01 by 2026-12-02 09:00")


def test_two_days_allowed_are_the_day_before_yesterday() -> None:
    lenient = replace(BERLIN, complete_by=times("0 9 * * *", "Europe/Berlin", 2), complete_days=2)
    late, there = morning(MIDNIGHT - DAY - MINUTE, lenient), morning(MIDNIGHT - DAY, lenient)

    late.pulse(NINE)
    there.pulse(NINE)

    assert str(late.incidents[0].facts[0].value).startswith("all of 2026-11-29 by")
    assert there.incidents == []


@pytest.mark.parametrize(
    ("nine", "midnight"),
    [
        ("2027-03-28 07:00", "2027-03-27 23:00"),  # 23 hours
        ("2027-10-31 08:00", "2027-10-30 22:00"),  # 25 hours
    ],
)
def test_when_the_clocks_are_changed_nine_stays_nine_and_midnight_midnight(nine: str, midnight: str) -> None:
    due, needed = utc(nine), utc(midnight)
    for reached, transitions in ((needed - MINUTE, ["opened"]), (needed, [])):
        log = watched(BERLIN, due - HOUR)
        reach(log, reached)

        pulses(log, due - HOUR + MINUTE, due - MINUTE)
        before = list(log.incidents)
        log.pulse(due)

        assert before == []
        assert log.transitions("freshness") == transitions


def test_a_policy_that_is_new_judges_only_what_comes_after_it() -> None:
    log = watched(Declared(first_declared_at=to_micros(NINE - 30 * DAY)), NINE - HOUR)
    pulses(log, NINE - HOUR + MINUTE, NINE + HOUR)

    declare(log, BERLIN)
    pulses(log, NINE + HOUR + MINUTE, NINE + DAY - MINUTE, every=3 * MINUTE)
    before = list(log.incidents)
    log.pulse(NINE + DAY)

    assert before == []
    assert log.transitions("freshness") == ["opened"]


def test_a_policy_that_is_changed_or_withdrawn_ends_what_it_had_opened() -> None:
    for declared in (replace(BERLIN, complete_by=times("0 10 * * *", "Europe/Berlin", 1)), Declared()):
        log = morning(MIDNIGHT - DAY)
        log.pulse(NINE)

        declare(log, declared)
        log.pulse(NINE + MINUTE)

        assert log.transitions("freshness") == ["opened", "resolved"]


def test_of_a_time_within_a_gap_of_pulses_nothing_is_said() -> None:
    log = morning(MIDNIGHT - DAY)

    pulses(log, NINE + 10 * MINUTE, NINE + HOUR)

    assert log.incidents == []


def test_what_never_had_a_watermark_is_due_from_its_first_declaration() -> None:
    log = morning(None, replace(BERLIN, first_declared_at=to_micros(MIDNIGHT + HOUR)))

    pulses(log, NINE, NINE + DAY - MINUTE, every=3 * MINUTE)
    before = list(log.incidents)
    log.pulse(NINE + DAY)

    assert before == []
    assert log.incidents[0].facts[0].note == "no watermark was ever set"


def test_neither_rows_nor_a_backfill_make_a_day_complete() -> None:
    log = morning(MIDNIGHT - DAY)
    log.pulse(NINE)

    tell(log, ended("daily", NINE + MINUTE, inserts=5), ended("old", NINE + MINUTE, inserts=5, backfill=True))
    pulses(log, NINE + 2 * MINUTE, NINE + HOUR)

    assert log.transitions("freshness") == ["opened"]


def test_data_that_is_old_and_incomplete_is_one_incident_with_a_fact_for_each() -> None:
    log = morning(MIDNIGHT - DAY, replace(BERLIN, freshness_limit=3600 * SECOND))

    pulses(log, NINE, NINE + MINUTE)

    assert log.transitions("freshness") == ["opened", "updated"]
    assert [fact.name for fact in log.incidents[-1].facts] == ["age", "due"]


def test_a_mute_that_ends_lets_the_incident_open_then() -> None:
    muted = replace(BERLIN, mutes=(Mute(check="freshness", until=NINE + HOUR),))
    log = morning(MIDNIGHT - DAY, muted)

    pulses(log, NINE, NINE + 2 * HOUR)

    assert [it.at for it in log.incidents] == [NINE + HOUR]


def test_a_worker_that_takes_over_knows_what_is_missing() -> None:
    log = morning(MIDNIGHT - DAY)
    log.pulse(NINE)

    log.desk = Desk(0)
    log.pulse(NINE + MINUTE)
    reach(log, MIDNIGHT)
    log.pulse(NINE + 2 * MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved"]


def test_between_two_times_no_row_is_written() -> None:
    log = morning(MIDNIGHT)
    row = log.rows[KEY]

    pulses(log, NINE - MINUTE, NINE - timedelta(seconds=1))

    assert log.rows[KEY] == row


@pytest.mark.parametrize("reached", [MIDNIGHT, MIDNIGHT - 3 * DAY])
def test_what_a_clock_ahead_found_missing_is_taken_back_when_it_is_put_right(reached: datetime) -> None:
    log = morning(reached)
    pulses(log, NINE + 2 * DAY - 5 * MINUTE, NINE + 2 * DAY)
    wrong = log.transitions("freshness")

    pulses(log, NINE - 30 * MINUTE, NINE - MINUTE)

    assert wrong == ["opened"]
    assert log.transitions("freshness") == ["opened", "resolved"]
