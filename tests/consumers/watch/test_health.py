"""When ingestion is ill, as sentences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from watchline.consumers.watch.health import (
    Cause,
    Health,
    Patience,
    Reading,
    agree,
    all_fresh,
    causes_of,
    judge,
    volume_cause,
)

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
PATIENCE = Patience()


def after(**parts: float) -> datetime:
    return NOON + timedelta(**parts)


def heard(partition: int, at: datetime, *, delay: float = 1) -> Reading:
    """A partition whose newest pulse came `at`, so many seconds after it was written."""
    return Reading(partition, at - timedelta(seconds=delay), at)


def told(causes: Iterable[Cause]) -> list[tuple[str, int | None]]:
    return [cause.place for cause in causes]


def weeks_of(events: int, *, hour: datetime, weeks: int = 4) -> dict[datetime, int]:
    """So many events in that hour of each past week, and one before, so that these are known to be weeks of ours."""
    past = {hour - number * timedelta(weeks=1): events for number in range(1, weeks + 1)}
    return past | {min(past) - HOUR: 1}


def test_pulses_that_come_are_well() -> None:
    readings = [heard(0, after(seconds=-30)), heard(1, after(seconds=-89))]

    assert causes_of(readings, {}, NOON, PATIENCE) == ()
    assert all_fresh(readings, NOON, PATIENCE)


def test_a_partition_without_a_pulse_is_silent_since_the_last_one() -> None:
    (cause,) = causes_of([heard(0, NOON), heard(1, after(seconds=-91))], {}, NOON, PATIENCE)

    assert (cause.place, cause.since) == (("silent", 1), after(seconds=-91))


def test_a_clock_of_a_worker_that_is_off_makes_nothing_silent() -> None:
    ahead = Reading(0, after(minutes=4), after(seconds=-10))

    assert causes_of([ahead], {}, NOON, PATIENCE) == ()


def test_pulses_that_come_late_make_a_delay_of_their_age() -> None:
    (cause,) = causes_of([heard(0, NOON), heard(3, NOON, delay=2400)], {}, NOON, PATIENCE)

    assert (cause.place, cause.behind) == (("delayed", 3), timedelta(minutes=40))


def test_a_partition_is_silent_before_it_is_delayed() -> None:
    assert told(causes_of([heard(0, after(minutes=-5), delay=2400)], {}, NOON, PATIENCE)) == [("silent", 0)]


def test_before_the_first_pulse_ever_nothing_is_ill_and_nothing_fresh() -> None:
    waiting = [Reading(0, None, after(hours=-5)), Reading(1, None, after(hours=-5))]

    assert causes_of(waiting, {}, NOON, PATIENCE) == ()
    assert not all_fresh(waiting, NOON, PATIENCE)
    assert not all_fresh([], NOON, PATIENCE)


def test_a_partition_of_which_no_pulse_ever_came_is_silent_once_others_are_heard() -> None:
    readings = [heard(0, NOON), Reading(1, None, after(minutes=-3))]

    assert told(causes_of(readings, {}, NOON, PATIENCE)) == [("silent", 1)]
    assert not all_fresh(readings, NOON, PATIENCE)


@pytest.mark.parametrize(("events", "ill"), [(0, True), (49, True), (50, False), (500, False)])
def test_a_volume_is_ill_below_a_tenth_of_the_same_hour_of_past_weeks(events: int, ill: bool) -> None:
    hours = weeks_of(500, hour=after(hours=-1)) | {after(hours=-1): events}

    assert (volume_cause(hours, after(minutes=5)) is not None) == ill


def test_an_hour_without_any_event_has_no_row_and_counts_as_none() -> None:
    cause = volume_cause(weeks_of(500, hour=after(hours=-1)), after(minutes=5))

    assert cause is not None
    assert (cause.events, cause.usual, cause.since) == (0, 500, after(hours=-1))


def test_one_odd_week_does_not_move_what_is_usual() -> None:
    hours = weeks_of(40, hour=after(hours=-1))
    hours[after(hours=-1, weeks=-2)] = 100_000

    assert volume_cause(hours, after(minutes=5)) is None


def test_an_hour_that_usually_brings_little_is_never_ill() -> None:
    assert volume_cause(weeks_of(49, hour=after(hours=-1)), after(minutes=5)) is None


def test_one_week_is_too_little_to_compare_with() -> None:
    assert volume_cause(weeks_of(500, hour=after(hours=-1), weeks=1), after(minutes=5)) is None
    assert volume_cause({}, after(minutes=5)) is None


def test_an_hour_is_judged_when_its_last_pulses_have_come() -> None:
    hours = weeks_of(500, hour=after(hours=-1)) | {after(hours=-2): 500}

    assert volume_cause(hours, after(minutes=1)) is None
    assert volume_cause(hours, after(minutes=3)) is not None


def test_events_that_came_after_a_gap_make_up_for_the_hour_before() -> None:
    hours = weeks_of(500, hour=after(hours=-1)) | weeks_of(500, hour=NOON)

    assert volume_cause(hours, after(minutes=5)) is not None
    assert volume_cause(hours | {NOON: 50}, after(minutes=5)) is None


def look_every(seconds: int, causes: Iterable[tuple[Cause, ...]], health: Health | None = None) -> list[Health]:
    """The verdicts of a series of looks."""
    found, health = [], health or Health()
    for number, seen in enumerate(causes):
        health = judge(health, seen, after(seconds=number * seconds), PATIENCE)
        found.append(health)
    return found


SILENT = (Cause("silent", after(seconds=-91), 0),)


def test_a_cause_is_told_when_it_has_lasted() -> None:
    verdicts = look_every(15, [SILENT] * 6)

    assert [one.ill for one in verdicts] == [False, False, False, False, True, True]
    assert verdicts[-1].since == after(seconds=-91)


def test_a_cause_that_comes_and_goes_is_never_told() -> None:
    assert not any(one.ill for one in look_every(15, [SILENT, SILENT, SILENT, ()] * 10))


def test_it_is_well_when_no_cause_was_seen_for_the_settle_time_and_since_the_first_such_look() -> None:
    verdicts = look_every(15, [SILENT, *[()] * 9], Health(ill=True, causes=SILENT))

    assert [one.ill for one in verdicts] == [True] * 9 + [False]
    assert verdicts[-1].since == after(seconds=15)


def test_a_relapse_begins_the_settle_time_anew() -> None:
    verdicts = look_every(15, [*[()] * 8, SILENT, *[()] * 8], Health(ill=True, causes=SILENT))

    assert all(one.ill for one in verdicts)


def test_while_it_is_ill_the_causes_are_those_last_seen() -> None:
    other = (replace(SILENT[0], partition=5),)

    assert look_every(15, [SILENT, other], Health(ill=True, causes=SILENT))[-1].causes == other


def test_what_another_notifier_told_is_taken_over_and_forgets_our_own_count() -> None:
    waiting = Health(turned_at=NOON)

    assert agree(waiting, True) == Health(ill=True)
    assert agree(Health(ill=True, causes=SILENT, turned_at=NOON), False) == Health()
    assert agree(waiting, False) == waiting
