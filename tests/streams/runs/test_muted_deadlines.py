"""Deadlines that are missed while a mute keeps that from people: told when it ends, if there is still no success."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from folds.log import Log, commanded, ended, started
from folds.schedules import DAY, HOUR, MINUTE, pulses, tell, times, utc, watched
from watchline.schemas import IncidentResolved, Mute, PipelineMuted, PipelineUnmuted
from watchline.streams.declarations import Declared
from watchline.streams.runs.desk import Desk

DUE = utc("2026-12-01 06:30")  # 07:30 in Berlin
BERLIN = Declared(done_by=times("30 7 * * *", "Europe/Berlin"))


def morning(declared: Declared = BERLIN) -> Log:
    """Watched from two hours before the deadline."""
    return watched(declared, DUE - 2 * HOUR)


def muted(until: datetime = DUE + HOUR) -> Log:
    """The same, with a mute."""
    return morning(replace(BERLIN, mutes=(Mute(check="timeliness", until=until),)))


def test_a_deadline_missed_within_a_mute_is_told_when_the_mute_ends() -> None:
    log = muted()

    pulses(log, DUE - 2 * HOUR, DUE + HOUR - MINUTE)
    hidden = list(log.incidents)
    pulses(log, DUE + HOUR, DUE + 2 * HOUR)

    (opened,) = log.incidents
    assert hidden == []
    assert (opened.severity, opened.at, opened.cause_at) == ("fail", DUE + HOUR, DUE)
    assert opened.title == "not done by 2026-12-01 07:30 Europe/Berlin"


def test_a_deadline_missed_within_a_mute_by_command_is_told_when_it_is_unmuted() -> None:
    log = morning()
    tell(log, commanded(PipelineMuted, DUE - 2 * HOUR, check="all", until=DUE + DAY))
    pulses(log, DUE - 2 * HOUR, DUE + HOUR)

    log.desk = Desk(0)  # the worker that was told so is gone
    tell(log, commanded(PipelineUnmuted, DUE + HOUR))
    pulses(log, DUE + HOUR + MINUTE, DUE + 2 * HOUR)

    assert [(it.transition, it.cause_at) for it in log.incidents] == [("opened", DUE)]


def test_a_missed_deadline_that_a_mute_has_closed_is_told_again_while_it_is_not_kept() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE)

    tell(log, commanded(PipelineMuted, DUE, check="timeliness", until=DUE + HOUR))
    pulses(log, DUE + MINUTE, DUE + 2 * HOUR)
    tell(log, ended("a", DUE + 2 * HOUR))

    assert [(it.transition, it.resolve_reason) for it in log.incidents] == [
        ("opened", None), ("resolved", "paused"), ("opened", None), ("resolved", "arrived_late")
    ]  # fmt: skip


@pytest.mark.parametrize("ends", [DUE - MINUTE, DUE + 30 * MINUTE], ids=["the news was late", "the run was late"])
def test_a_success_within_the_mute_leaves_nothing_to_tell(ends: datetime) -> None:
    log = muted()
    pulses(log, DUE - 2 * HOUR, DUE + 30 * MINUTE)

    log.append(ended("a", ends), now=DUE + 30 * MINUTE)
    pulses(log, DUE + 31 * MINUTE, DUE + 2 * HOUR)

    assert log.incidents == []


def test_of_several_deadlines_missed_within_a_mute_the_last_is_told() -> None:
    log = muted(DUE + 2 * DAY + HOUR)

    pulses(log, DUE - 2 * HOUR, DUE + 2 * DAY + 2 * HOUR, every=3 * MINUTE)

    assert [(it.transition, it.cause_at) for it in log.incidents] == [("opened", DUE + 2 * DAY)]


def test_a_deadline_met_after_one_that_was_missed_within_the_mute_leaves_nothing_to_tell() -> None:
    log = muted(DUE + DAY + HOUR)
    pulses(log, DUE - 2 * HOUR, DUE + HOUR)

    tell(log, started("a", DUE + DAY - HOUR), ended("a", DUE + DAY - MINUTE))
    pulses(log, DUE + HOUR, DUE + DAY + 2 * HOUR, every=3 * MINUTE)

    assert log.incidents == []


def test_a_deadline_missed_within_the_mute_is_noted_by_a_failure_that_opened_meanwhile() -> None:
    log = muted()
    pulses(log, DUE - 2 * HOUR, DUE + 30 * MINUTE)
    tell(log, ended("a", DUE + 30 * MINUTE, status="failed"))

    pulses(log, DUE + 31 * MINUTE, DUE + 2 * HOUR)

    assert [(it.kind, it.transition) for it in log.incidents] == [("failure", "opened"), ("failure", "updated")]
    assert log.incidents[-1].facts[-1].name == "deadline missed"


def test_a_success_that_was_known_when_the_deadline_was_judged_leaves_nothing_to_tell() -> None:
    log = muted()
    pulses(log, DUE - 2 * HOUR, DUE - MINUTE)

    tell(log, started("a", DUE - HOUR), ended("a", DUE + timedelta(seconds=10)))
    pulses(log, DUE + MINUTE, DUE + 2 * HOUR)

    assert log.incidents == []


def test_a_miss_closed_by_hand_is_not_told_again_because_a_mute_closes_the_warning_of_the_next() -> None:
    log = morning()
    pulses(log, DUE - 2 * HOUR, DUE)
    tell(log, commanded(IncidentResolved, DUE, incident_id=log.incidents[0].incident_id))
    for n in range(30):
        at = DUE - 50 * DAY + n * DAY
        tell(log, ended(f"past-{n}", at, started_at=at - HOUR, duration_ms=3_600_000))
    pulses(log, DUE + MINUTE, DUE + DAY - 30 * MINUTE, every=3 * MINUTE)

    tell(log, commanded(PipelineMuted, DUE + DAY - 30 * MINUTE, until=DUE + DAY - 20 * MINUTE))
    pulses(log, DUE + DAY - 29 * MINUTE, DUE + DAY - 5 * MINUTE)

    assert [(it.severity, it.transition) for it in log.incidents] == [
        ("fail", "opened"), ("fail", "resolved"), ("warn", "opened"), ("warn", "resolved")
    ]  # fmt: skip
