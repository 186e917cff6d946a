"""Slots over time: what a pulse decides about them, and what a start that is read changes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from folds.log import ended, identity, started
from folds.schedules import DAY, HOUR, MINUTE, declare, pulses, scheduled, states, utc, watched
from watchline.schemas import Mute
from watchline.streams.declarations import Declared

SIX = utc("2026-12-01 06:00")
DAILY = scheduled("0 6 * * *", grace_seconds=900)
HOURLY = scheduled("0 * * * *", grace_seconds=900)


def test_the_next_slot_is_expected_from_the_first_pulse_on() -> None:
    log = watched(DAILY, SIX - HOUR)

    assert {due: slot.state for due, slot in log.slots.items()} == {SIX: "expected"}
    assert log.slots[SIX].grace_seconds == 900


def test_a_start_in_time_meets_its_slot_and_names_the_run() -> None:
    log = watched(DAILY, SIX - HOUR)

    log.append(started("a", SIX + MINUTE))
    pulses(log, SIX - HOUR, SIX + HOUR)

    assert states(log) == ["met", "expected"]
    assert log.slots[SIX].run_id == identity("a")
    assert log.incidents == []


def test_nothing_is_missed_before_the_grace_has_run_out() -> None:
    log = watched(DAILY, SIX - HOUR)

    pulses(log, SIX - HOUR, SIX + timedelta(minutes=14))
    before = states(log)
    log.pulse(SIX + timedelta(minutes=15))

    assert before == ["expected", "expected"]
    assert states(log) == ["missed", "expected"]
    assert [(it.kind, it.severity, it.cause_at) for it in log.incidents] == [
        ("missed_start", "fail", SIX + timedelta(minutes=15))
    ]


def test_a_late_pulse_opens_the_incident_and_its_cause_is_the_end_of_the_grace() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + 14 * MINUTE)

    log.pulse(SIX + 16 * MINUTE)

    assert (log.incidents[0].at, log.incidents[0].cause_at) == (SIX + 16 * MINUTE, SIX + 15 * MINUTE)


def test_several_misses_are_one_incident_that_ends_with_the_next_start() -> None:
    log = watched(HOURLY, SIX - MINUTE)
    pulses(log, SIX, SIX + 3 * HOUR)

    log.append(started("a", SIX + 3 * HOUR))

    assert log.transitions("missed_start") == ["opened", "updated", "updated", "resolved"]
    assert log.incidents[-1].resolve_reason == "recovered"
    assert states(log) == ["missed", "missed", "missed", "met", "expected"]


def test_a_start_for_an_older_slot_leaves_the_incident_of_a_newer_one_open() -> None:
    log = watched(HOURLY, SIX - MINUTE)
    pulses(log, SIX, SIX + 2 * HOUR)

    log.append(started("a", SIX + 5 * MINUTE))

    assert states(log)[:2] == ["met", "missed"]
    assert log.transitions("missed_start") == ["opened", "updated"]


def test_a_slot_missed_after_a_later_one_was_met_is_told_and_over_at_once() -> None:
    log = watched(scheduled("*/5 * * * *", grace_seconds=900), SIX - MINUTE)
    log.append(started("a", SIX + 5 * MINUTE))

    pulses(log, SIX, SIX + 15 * MINUTE)

    assert states(log)[:2] == ["missed", "met"]
    assert log.transitions("missed_start") == ["opened", "resolved"]


def test_a_run_whose_end_alone_is_heard_of_meets_its_slot() -> None:
    log = watched(DAILY, SIX - HOUR)

    log.append(ended("a", SIX + 10 * MINUTE, duration_ms=540_000))

    assert states(log) == ["met", "expected"]
    assert log.slots[SIX].started_at == SIX + MINUTE


def test_the_same_run_meets_one_slot_however_often_it_is_told() -> None:
    log = watched(HOURLY, SIX - MINUTE)
    pulses(log, SIX, SIX + 2 * HOUR)

    log.append(started("a", SIX + 2 * HOUR), started("a", SIX + 2 * HOUR, attempt=2), ended("a", SIX + 3 * HOUR))

    assert [slot.run_id for slot in log.slots.values()].count(identity("a")) == 1


def test_a_further_attempt_does_not_meet_the_next_slot() -> None:
    log = watched(HOURLY, SIX - MINUTE)
    log.append(started("a", SIX), ended("a", SIX + MINUTE, "failed"))

    log.append(started("b", SIX + 59 * MINUTE + timedelta(seconds=30), attempt=2))
    pulses(log, SIX, SIX + 80 * MINUTE)

    assert states(log) == ["met", "missed", "expected"]
    assert log.slots[SIX].run_id == identity("a")


def test_a_backfill_meets_no_slot_and_one_that_turns_out_to_be_one_gives_it_back() -> None:
    log = watched(DAILY, SIX - HOUR)
    log.append(started("a", SIX), started("b", SIX, backfill=True))

    log.append(ended("a", SIX + MINUTE, backfill=True))
    pulses(log, SIX - HOUR, SIX + HOUR)

    assert states(log) == ["missed", "expected"]


def test_an_end_that_does_not_count_may_still_tell_that_it_was_a_backfill() -> None:
    log = watched(DAILY, SIX - HOUR)
    log.append(ended("a", SIX + 2 * MINUTE, duration_ms=60_000))

    log.append(ended("a", SIX + MINUTE, backfill=True))

    assert log.slots[SIX].state == "expected"


def test_a_slot_that_is_given_back_goes_to_the_run_that_came_second() -> None:
    log = watched(DAILY, SIX - HOUR)
    log.append(started("a", SIX), started("b", SIX + MINUTE))

    log.append(ended("a", SIX + 2 * MINUTE, backfill=True))

    assert log.slots[SIX].run_id == identity("b")


@pytest.mark.parametrize("ahead", [timedelta(minutes=10), timedelta(hours=20)])
def test_a_run_whose_clock_runs_ahead_lists_no_slots_and_meets_only_one_that_is_there(ahead: timedelta) -> None:
    log = watched(HOURLY, SIX - MINUTE)

    log.append(started("a", SIX + ahead, flags=("clock_skew",)))

    assert states(log) == (["met"] if ahead < HOUR else ["expected"])


def test_a_nominal_time_far_ahead_meets_nothing() -> None:
    log = watched(HOURLY, SIX - MINUTE)

    log.append(started("a", SIX, nominal_at=SIX + 5 * HOUR))

    assert states(log) == ["expected", "expected"]


def test_the_nominal_time_decides_which_slot_is_met() -> None:
    log = watched(HOURLY, SIX - MINUTE)
    pulses(log, SIX, SIX + HOUR)

    log.append(started("a", SIX + HOUR, nominal_at=SIX))

    assert states(log) == ["late", "expected", "expected"]


def test_a_new_schedule_looks_at_no_slot_before_it() -> None:
    log = watched(Declared(), SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + MINUTE)

    declare(log, DAILY)
    pulses(log, SIX + 2 * MINUTE, SIX + 2 * HOUR)

    assert {due: slot.state for due, slot in log.slots.items()} == {SIX + DAY: "expected"}
    assert log.incidents == []


def test_a_run_that_was_there_before_its_schedule_meets_the_first_slot() -> None:
    log = watched(Declared(), SIX - MINUTE)
    log.append(started("a", SIX - timedelta(seconds=3)))

    declare(log, DAILY)
    pulses(log, SIX - timedelta(seconds=2), SIX + HOUR)

    assert states(log) == ["met", "expected"]


def test_a_changed_schedule_excuses_what_was_open_and_counts_from_now_on() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + MINUTE)

    declare(log, scheduled("0 5 * * *", grace_seconds=900))
    pulses(log, SIX + 2 * MINUTE, SIX + HOUR)

    assert [(slot.state, slot.reason) for _, slot in sorted(log.slots.items())] == [
        ("excused", "changed"), ("expected", None), ("excused", "changed"),
    ]  # fmt: skip
    assert log.incidents == []


def test_the_same_schedule_declared_again_changes_nothing() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + MINUTE)

    declare(log, scheduled("0 6 * * *", grace_seconds=900, declared=Declared(owner="somebody else")))
    pulses(log, SIX + 2 * MINUTE, SIX + HOUR)

    assert states(log) == ["missed", "expected"]


@pytest.mark.parametrize(
    ("reason", "declared"),
    [
        ("paused", scheduled("0 6 * * *", paused_until=SIX + MINUTE)),
        ("excluded", scheduled("0 6 * * *", exclude=("2026-11-30/2026-12-01",))),
        ("muted", replace(DAILY, mutes=(Mute(check="missed_start"),))),
        ("muted", replace(DAILY, mutes=(Mute(check="all", until=SIX + HOUR),))),
    ],
)
def test_a_start_that_nobody_had_to_make_is_excused(reason: str, declared: Declared) -> None:
    log = watched(declared, SIX - HOUR)

    pulses(log, SIX - HOUR, SIX + HOUR)

    assert (log.slots[SIX].state, log.slots[SIX].reason) == ("excused", reason)
    assert log.incidents == []


def test_an_excused_start_that_comes_all_the_same_is_met() -> None:
    log = watched(scheduled("0 6 * * *", exclude=("2026-12-01",)), SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + HOUR)

    log.append(started("a", SIX + MINUTE))

    assert (log.slots[SIX].state, log.slots[SIX].reason) == ("met", None)


def test_only_a_pulse_decides_that_a_start_is_missing() -> None:
    log = watched(HOURLY, SIX - MINUTE)

    log.append(started("a", SIX + 5 * HOUR))

    assert states(log) == ["expected"] * 5 + ["met", "expected"]
    assert log.incidents == []


def test_an_inactive_pipeline_expects_nothing_until_it_is_active_again() -> None:
    log = watched(DAILY, SIX - HOUR)
    pulses(log, SIX - HOUR, SIX + MINUTE)
    declare(log, replace(DAILY, active=False))
    pulses(log, SIX + 2 * MINUTE, SIX + 2 * DAY, every=3 * MINUTE)

    declare(log, DAILY)
    pulses(log, SIX + 2 * DAY + MINUTE, SIX + 3 * DAY + HOUR, every=3 * MINUTE)

    assert [(slot.state, slot.reason) for _, slot in sorted(log.slots.items())] == [
        ("excused", "inactive"), ("excused", "inactive"), ("missed", None), ("expected", None),
    ]  # fmt: skip
