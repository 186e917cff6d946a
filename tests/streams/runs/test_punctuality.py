"""Deadlines on the clock: "done by 07:30 in Berlin", with a warning when that can't be kept any more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.log import Log, ended, identity, started
from folds.schedules import DAY, HOUR, MINUTE, declare, pulses, tell, times, utc, watched
from folds.stories import thoroughly
from watchline.schemas import Mute, RunEnded
from watchline.streams.declarations import Declared
from watchline.streams.runs.desk import Desk
from watchline.streams.runs.fold import RunsEvent

DUE = utc("2026-12-01 06:30")  # 07:30 in Berlin
BERLIN = Declared(done_by=times("30 7 * * *", "Europe/Berlin"))


def morning(declared: Declared = BERLIN) -> Log:
    """Watched from two hours before the deadline."""
    return watched(declared, DUE - 2 * HOUR)


def learned(declared: Declared = BERLIN, runs: int = 30) -> Log:
    """The same with a run of an hour on each of the days before."""
    log = Log(declared, morning().rhythm)
    for n in range(runs, 0, -1):
        at = DUE - n * DAY
        tell(log, ended(f"past-{n}", at - 30 * MINUTE, started_at=at - 90 * MINUTE, duration_ms=3_600_000))
    pulses(log, DUE - 2 * HOUR - 2 * MINUTE, DUE - 2 * HOUR)
    return log


def test_a_run_that_succeeded_in_time_keeps_it() -> None:
    log = morning()

    tell(log, started("a", DUE - HOUR), ended("a", DUE))
    pulses(log, DUE - 2 * HOUR, DUE + HOUR)

    assert log.incidents == []


def test_with_none_the_incident_opens_at_the_deadline_and_names_it() -> None:
    log = morning()

    pulses(log, DUE - 2 * HOUR, DUE + HOUR)

    (opened,) = log.incidents
    assert (opened.kind, opened.subject, opened.severity) == ("timeliness", "deadline", "fail")
    assert (opened.at, opened.cause_at, opened.run_id) == (DUE, DUE, None)
    assert opened.title == "not done by 2026-12-01 07:30 Europe/Berlin"
    assert opened.facts[0].value == "2026-12-01 07:30 Europe/Berlin (2026-12-01 06:30 UTC)"
    assert opened.facts[0].note == "no run has succeeded since 2026-11-30 07:30 Europe/Berlin"


def test_the_success_that_comes_after_it_ends_it_as_late() -> None:
    log = morning()
    tell(log, started("a", DUE - HOUR))
    pulses(log, DUE - 2 * HOUR, DUE + 10 * MINUTE)

    tell(log, ended("a", DUE + 10 * MINUTE))

    assert [(it.transition, it.at) for it in log.incidents] == [("opened", DUE), ("resolved", DUE + 10 * MINUTE)]
    assert log.incidents[0].run_id == identity("a")  # the one that was running
    assert log.incidents[-1].resolve_reason == "arrived_late"


@pytest.mark.parametrize("fields", [{"status": "failed"}, {"status": "unknown"}, {"backfill": True}])
def test_neither_a_failure_nor_a_backfill_keeps_it_or_ends_it(fields: dict[str, object]) -> None:
    log = morning(replace(BERLIN, mutes=(Mute(check="failure"),)))

    tell(log, RunEnded.model_validate(ended("a", DUE - HOUR).model_dump() | fields))
    pulses(log, DUE - 2 * HOUR, DUE)
    tell(log, RunEnded.model_validate(ended("b", DUE + MINUTE).model_dump() | fields))

    assert log.transitions("timeliness") == ["opened"]


def test_a_success_of_the_day_before_keeps_nothing() -> None:
    log = morning()

    tell(log, ended("a", DUE - DAY))
    pulses(log, DUE - 2 * HOUR, DUE)

    assert log.transitions("timeliness") == ["opened"]


def test_a_run_that_was_late_yesterday_does_not_count_for_today() -> None:
    log = morning()
    tell(log, started("a", DUE - HOUR))
    pulses(log, DUE - 2 * HOUR, DUE + HOUR)
    tell(log, ended("a", DUE + HOUR))

    pulses(log, DUE + HOUR, DUE + DAY, every=3 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved", "opened"]


def test_the_news_of_a_run_that_was_in_time_may_come_late() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE + HOUR)

    log.append(ended("a", DUE - MINUTE), now=DUE + HOUR)
    log.append(ended("b", DUE + 2 * HOUR, started_at=DUE - MINUTE), now=DUE + 2 * HOUR)  # is none too many
    pulses(log, DUE + HOUR, DUE + DAY, every=3 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_a_success_between_the_deadline_and_the_pulse_that_judges_it_was_too_late() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE - 5 * timedelta(seconds=1))

    tell(log, ended("a", DUE + timedelta(seconds=1)))
    log.pulse(DUE + MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_and_one_before_the_deadline_is_not_forgotten_for_those_that_follow_it() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)

    tell(log, *(ended(n, DUE + (n - 1) * timedelta(seconds=1)) for n in range(20)))
    log.pulse(DUE + MINUTE)

    assert log.incidents == []


def test_days_without_a_success_are_one_incident() -> None:
    log = morning()

    pulses(log, DUE - 2 * HOUR, DUE + 2 * DAY, every=3 * MINUTE)
    tell(log, ended("a", DUE + 2 * DAY + HOUR))

    assert log.transitions("timeliness") == ["opened", "updated", "updated", "resolved"]
    assert log.incidents[2].title == "not done by 2026-12-03 07:30 Europe/Berlin"
    assert {it.severity for it in log.incidents} == {"fail"}


@pytest.mark.parametrize("due", ["2027-03-28 05:30", "2027-10-31 06:30"])
def test_when_the_clocks_are_changed_half_past_seven_stays_half_past_seven(due: str) -> None:
    at = utc(due)
    log = watched(BERLIN, at - 26 * HOUR)
    tell(log, ended("a", at - 25 * HOUR))

    pulses(log, at - 26 * HOUR, at - MINUTE, every=3 * MINUTE)
    before = [it for it in log.incidents if it.cause_at > at - 2 * HOUR]
    log.pulse(at)

    assert before == []
    assert log.incidents[-1].at == at


def test_a_deadline_that_is_new_counts_what_was_done_before_it_was_declared() -> None:
    log = watched(Declared(), DUE - 2 * HOUR)
    tell(log, ended("a", DUE - HOUR))
    pulses(log, DUE - 2 * HOUR, DUE - 30 * MINUTE)

    declare(log, BERLIN)
    pulses(log, DUE - 29 * MINUTE, DUE + HOUR)

    assert log.incidents == []


def test_and_judges_only_what_comes_after_it() -> None:
    log = watched(Declared(), DUE - HOUR)
    pulses(log, DUE - HOUR, DUE + HOUR)

    declare(log, BERLIN)
    pulses(log, DUE + HOUR, DUE + 20 * HOUR, every=3 * MINUTE)

    assert log.incidents == []


@pytest.mark.parametrize("declared", [Declared(), Declared(done_by=times("0 9 * * *"))])
def test_one_that_is_withdrawn_or_changed_ends_what_it_had_opened(declared: Declared) -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE)

    declare(log, declared)
    log.pulse(DUE + MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_of_a_deadline_within_a_gap_of_pulses_nothing_is_said() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)

    pulses(log, DUE + 10 * MINUTE, DUE + HOUR)

    assert log.incidents == []


def test_a_run_that_starts_too_late_to_be_done_warns_at_once_and_fails_at_the_deadline() -> None:
    log = learned()

    pulses(log, DUE - 2 * HOUR, DUE - 65 * MINUTE)
    tell(log, started("a", DUE - 40 * MINUTE))
    quiet = log.transitions("timeliness")
    pulses(log, DUE - 64 * MINUTE, DUE + MINUTE)
    tell(log, ended("a", DUE + 20 * MINUTE, started_at=DUE - 40 * MINUTE))

    assert quiet == []
    assert [(it.transition, it.severity) for it in log.incidents if it.subject == "deadline"] == [
        ("opened", "warn"), ("updated", "fail"), ("resolved", "fail")
    ]  # fmt: skip
    warned = log.incidents[0]
    assert warned.at == DUE - 40 * MINUTE
    assert warned.title == "will not be done by 2026-12-01 07:30 Europe/Berlin"
    assert warned.facts[1].name == "usual duration"
    assert warned.facts[1].value == pytest.approx(3600, rel=0.01)


def test_a_run_that_started_early_enough_warns_of_nothing_until_the_deadline() -> None:
    log = learned()
    tell(log, started("a", DUE - 70 * MINUTE))

    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)
    before = list(log.incidents)
    log.pulse(DUE)

    assert before == []
    assert [(it.severity, it.at) for it in log.incidents] == [("fail", DUE)]


def test_no_run_at_all_warns_when_one_that_starts_then_would_be_too_late() -> None:
    log = learned()

    pulses(log, DUE - 2 * HOUR, DUE - 30 * MINUTE)

    (warned,) = log.incidents
    assert warned.severity == "warn"
    assert DUE - 61 * MINUTE <= warned.at <= DUE - 58 * MINUTE
    assert warned.facts[1].note == "none is running in time"


def test_a_warning_that_proves_wrong_ends_as_recovered() -> None:
    log = learned()
    tell(log, started("a", DUE - 40 * MINUTE))
    pulses(log, DUE - 2 * HOUR, DUE - 10 * MINUTE)

    tell(log, ended("a", DUE - 10 * MINUTE, started_at=DUE - 40 * MINUTE))
    pulses(log, DUE - 9 * MINUTE, DUE + HOUR)

    ours = [it for it in log.incidents if it.kind == "timeliness"]
    assert [(it.transition, it.severity) for it in ours] == [("opened", "warn"), ("resolved", "warn")]
    assert ours[-1].resolve_reason == "recovered"


def test_fewer_than_thirty_runs_warn_of_nothing() -> None:
    log = learned(runs=29)

    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)

    assert log.incidents == []


@pytest.mark.parametrize(
    ("before", "fields"),
    [(100 * MINUTE, {"backfill": True}), (100 * MINUTE, {"heartbeat_seconds": 1.0}), (DAY, {})],
    ids=["a backfill", "lost", "overdue"],
)
def test_neither_a_backfill_nor_a_run_that_is_lost_or_overdue_is_waited_for(
    before: timedelta, fields: dict[str, object]
) -> None:
    log = learned(replace(BERLIN, mutes=(Mute(check="lost"),)))
    tell(log, started("a", DUE - before, **fields))

    pulses(log, DUE - 2 * HOUR, DUE - 30 * MINUTE)

    assert [it.severity for it in log.incidents if it.subject == "deadline"] == ["warn"]


def test_a_run_that_fails_after_the_warning_is_told_and_the_deadline_then_tells_nobody_again() -> None:
    log = learned()
    tell(log, started("a", DUE - 40 * MINUTE))
    pulses(log, DUE - 2 * HOUR, DUE - 10 * MINUTE)
    tell(log, ended("a", DUE - 10 * MINUTE, status="failed"))

    pulses(log, DUE - 9 * MINUTE, DUE + MINUTE)

    last = log.incidents[-2:]
    assert [(it.kind, it.transition, it.severity) for it in last] == [
        ("failure", "updated", "fail"), ("timeliness", "updated", "warn")
    ]  # fmt: skip


def test_a_worker_that_takes_over_judges_as_the_one_before() -> None:
    log = learned()
    tell(log, started("a", DUE - 70 * MINUTE))
    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)

    log.desk = Desk(0)
    log.pulse(DUE)

    assert [it.transition for it in log.incidents if it.subject == "deadline"] == ["opened"]


def test_a_deadline_that_a_clock_ahead_has_judged_is_open_again_when_it_is_put_right() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE - HOUR)
    pulses(log, DUE + 2 * DAY - 3 * MINUTE, DUE + 2 * DAY)
    wrong = log.transitions("timeliness")

    pulses(log, DUE - HOUR, DUE - 10 * MINUTE)
    put_right = log.transitions("timeliness")
    pulses(log, DUE - 9 * MINUTE, DUE)

    assert (wrong, put_right) == (["opened"], ["opened", "resolved"])
    assert log.transitions("timeliness") == ["opened", "resolved", "opened"]


EVENTS: list[RunsEvent] = [
    started("a", DUE - HOUR), ended("a", DUE - 20 * MINUTE), started("b", DUE - 50 * MINUTE),
    ended("b", DUE + 5 * MINUTE), ended("c", DUE - DAY), ended("d", DUE - 30 * MINUTE, backfill=True),
]  # fmt: skip


@thoroughly
@given(st.sets(st.sampled_from(range(len(EVENTS)))), st.randoms(use_true_random=False), st.integers(1, 6))
def test_any_order_of_events_between_two_pulses_decides_the_same(chosen: set[int], chance: Random, size: int) -> None:
    told = [EVENTS[n] for n in sorted(chosen)]
    shuffled = [*told, *told[:2]]
    chance.shuffle(shuffled)
    once, often = morning(), morning()

    if told:
        once.append(*told, now=DUE + 5 * MINUTE)
    for at in range(0, len(shuffled), size):
        often.append(*shuffled[at : at + size], now=DUE + 5 * MINUTE)
    for log in (once, often):
        pulses(log, DUE - 2 * HOUR, DUE + HOUR, every=3 * MINUTE)

    assert often.transitions("timeliness") == once.transitions("timeliness")
    assert once.transitions("timeliness") == ([] if 1 in chosen else ["opened"])


def test_a_warning_that_was_closed_is_not_given_twice_and_the_deadline_is_told_all_the_same() -> None:
    log = learned()
    pulses(log, DUE - 2 * HOUR, DUE - 40 * MINUTE)

    declare(log, replace(BERLIN, mutes=(Mute(check="timeliness"),)))
    log.pulse(DUE - 39 * MINUTE)
    declare(log, BERLIN)
    pulses(log, DUE - 38 * MINUTE, DUE)

    assert [(it.transition, it.severity, it.resolve_reason) for it in log.incidents] == [
        ("opened", "warn", None), ("resolved", "warn", "paused"), ("opened", "fail", None)
    ]  # fmt: skip
