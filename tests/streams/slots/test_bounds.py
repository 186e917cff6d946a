"""However many slots a schedule names, and however late anybody looks, a row stays small."""

from __future__ import annotations

from folds.log import ended, started
from folds.schedules import DAY, HOUR, MINUTE, pulses, scheduled, states, utc, watched
from watchline.streams.declarations import Declared
from watchline.streams.instants import to_micros
from watchline.streams.rows import encode_row
from watchline.streams.slots.book import KEPT_DECIDED, KEPT_PENDING, LISTED, MOST_PENDING

SIX = utc("2026-12-01 06:00")
HOURLY = scheduled("0 * * * *", grace_seconds=900)
EVERY_MINUTE = scheduled("* * * * *", grace_seconds=60)


def test_a_schedule_that_never_comes_expects_nothing_and_is_not_looked_at_again() -> None:
    log = watched(scheduled("* * */20 * 1L"), SIX - HOUR)

    pulses(log, SIX - HOUR, SIX)

    assert log.slots == {}
    assert log.desk.deadlines is not None
    assert log.desk.deadlines.pop_due(to_micros(SIX + 1000 * DAY)) == []


def test_a_grace_longer_than_many_slots_keeps_a_bounded_row() -> None:
    log = watched(scheduled("* * * * *", grace_seconds=10 * 86_400), SIX)

    pulses(log, SIX, SIX + 2 * HOUR)

    expected = log.row.expected
    assert expected is not None
    assert len(expected.slots) <= KEPT_PENDING + KEPT_DECIDED + 2
    assert states(log).count("missed") == 120 - KEPT_PENDING


def test_events_without_pulses_keep_a_bounded_row_and_miss_nothing() -> None:
    log = watched(EVERY_MINUTE, SIX)

    for n in range(200):
        log.append(started(n, SIX + (2 * n + 1) * MINUTE))

    expected = log.row.expected
    assert expected is not None
    assert len(expected.slots) <= MOST_PENDING + KEPT_DECIDED + 2
    assert set(states(log)) == {"met", "unknown", "expected"}
    assert states(log).count("met") == 200
    assert log.incidents == []


def test_slots_too_many_to_list_stand_in_one_row() -> None:
    log = watched(EVERY_MINUTE, SIX)

    log.pulse(SIX + 10 * DAY)
    pulses(log, SIX + 10 * DAY + MINUTE, SIX + 10 * DAY + 3 * MINUTE)

    unknown = [slot for _, slot in sorted(log.slots.items()) if slot.state == "unknown"]
    assert len(unknown) <= LISTED + 5
    assert [slot.until is not None for slot in unknown].count(True) == 1
    assert log.incidents == []


def test_a_pipeline_without_a_schedule_keeps_nothing_of_slots() -> None:
    log = watched(Declared(), SIX)
    log.append(started("a", SIX))

    pulses(log, SIX, SIX + HOUR)

    assert log.slots == {}
    assert log.row.expected is None


def test_the_slots_of_a_row_take_less_than_a_kilobyte_when_all_goes_well() -> None:
    log = watched(HOURLY, SIX - MINUTE)

    for n in range(40):
        log.append(started(n, SIX + n * HOUR), ended(n, SIX + n * HOUR + MINUTE))
        pulses(log, SIX + n * HOUR, SIX + n * HOUR + 57 * MINUTE, every=3 * MINUTE)

    whole = log.row
    bare = log.row
    bare.expected = None
    assert len(encode_row(whole)) - len(encode_row(bare)) < 1024
