"""Pipelines that never end what they start, and clocks that lie: the row stays small and the alarms stay honest."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest

from folds.log import KEY, NOON, Log, ended, heartbeat, identity, started
from stack.cases import read_cases
from watchline.schemas import BadEvent, Mute, decode
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.runs.desk import Desk, Rhythm
from watchline.streams.runs.fold import KEPT_OPEN, RunsEvent

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
LIMITED = Declared(timeliness_limit=600 * SECOND)


def decodable() -> list[tuple[str, RunsEvent]]:
    """The bad events that are repaired, or only look bad."""
    found = []
    for case in read_cases():
        with suppress(BadEvent):
            event = decode(case.value, now=NOON)
            if isinstance(event, RunsEvent):
                found.append((case.name, event))
    return found


@pytest.mark.parametrize("event", [pytest.param(event, id=name) for name, event in decodable()])
def test_a_bad_event_that_decodes_is_folded(event: RunsEvent) -> None:
    log = Log(LIMITED)

    log.append(event, event)
    log.pulse(NOON + DAY)

    assert log.row.offset >= 1


def test_the_incident_of_a_run_that_is_forgotten_expires() -> None:
    log = Log(LIMITED)
    log.append(started("lost", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.append(*(started(n, NOON + 12 * MINUTE) for n in range(KEPT_OPEN)))

    assert [it.resolve_reason for it in log.incidents] == [None, "expired"]
    assert log.row.incidents == []
    assert len(log.row.open) == KEPT_OPEN


def test_an_end_of_an_unknown_run_pushes_no_open_run_out() -> None:
    log = Log()
    log.append(*(started(n) for n in range(KEPT_OPEN)))

    log.append(ended("other"))

    assert len(log.row.open) == KEPT_OPEN


def test_long_watermarks_of_open_runs_do_not_swell_the_row() -> None:
    log = Log()

    log.append(*(started(n, watermark="w" * 8192, next_watermark="n" * 8192) for n in range(100)))

    assert len(log.rows[KEY]) < 16 * 1024
    assert (len(log.newest(5).watermark or ""), len(log.newest(5).next_watermark or "")) == (8192, 8192)


@pytest.mark.parametrize("declared", [Declared(), Declared(timeliness_limit=1, active=False)], ids=["limit", "active"])
def test_what_is_no_longer_watched_is_closed_even_by_a_worker_that_was_not_told(declared: Declared) -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.declared, log.desk = declared, Desk(0)
    log.pulse(NOON + 12 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_stale_data_without_a_limit_any_more_is_no_incident() -> None:
    log = Log(Declared(freshness_limit=600 * SECOND, first_declared_at=to_micros(NOON)))
    log.pulse(NOON + 11 * MINUTE)

    log.declared, log.desk = Declared(), Desk(0)
    log.pulse(NOON + 12 * MINUTE)

    assert [it.resolve_reason for it in log.incidents] == [None, "paused"]


def test_an_incident_is_not_renewed_before_it_was_opened() -> None:
    log = Log()
    log.append(ended("long", NOON + 90 * MINUTE, "failed", started_at=NOON))

    log.append(ended("short", NOON + 40 * MINUTE, "failed", started_at=NOON + 30 * MINUTE))

    assert log.transitions("failure") == ["opened", "updated"]
    assert log.incidents[1].at == log.incidents[1].opened_at == NOON + 90 * MINUTE


def test_a_mute_closes_a_failure_although_nothing_is_due() -> None:
    log = Log()
    log.append(ended("a", NOON, "failed"))

    log.declared, log.desk = Declared(mutes=(Mute(check="failure"),)), Desk(0)
    log.pulse(NOON + MINUTE)

    assert [it.resolve_reason for it in log.incidents] == [None, "paused"]


def test_the_duration_of_a_run_without_a_start_is_told() -> None:
    log = Log(LIMITED)

    log.append(ended("a", NOON, duration_ms=20 * 60_000))

    assert log.incidents[0].facts[0].value == 1200
    assert log.incidents[0].cause_at == NOON - 10 * MINUTE


def test_a_late_start_tells_that_an_ended_run_was_overdue() -> None:
    log = Log(LIMITED)

    log.append(ended("a", NOON + 20 * MINUTE), started("a", NOON))

    assert log.newest("a").overdue
    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_a_run_from_a_clock_ahead_does_not_hide_the_failures_of_the_next_day() -> None:
    log = Log()
    log.append(ended("ahead", NOON + 0.9 * DAY), now=NOON)

    log.append(ended("b", NOON + MINUTE, "failed"), now=NOON + MINUTE)

    assert log.transitions("failure") == ["opened"]


def test_a_start_after_the_end_teaches_nothing() -> None:
    log = Log()
    log.history(5, inserts=10)
    before = log.row.baselines.copy()

    log.append(ended("a", NOON, started_at=NOON + 0.9 * DAY, inserts=10))

    assert log.row.baselines["inserts"] == before["inserts"]


def test_one_pulse_of_a_clock_ahead_neither_alarms_nor_stops_the_clock() -> None:
    log = Log(LIMITED, Rhythm(pulse=5, settle=30, epoch=0))
    for n in range(10):
        log.pulse(NOON + n * timedelta(seconds=5))
    log.append(started("a", NOON + MINUTE))

    log.pulse(NOON + 10 * DAY)
    alarmed = log.transitions("timeliness")
    for n in range(200):
        log.pulse(NOON + MINUTE + n * timedelta(seconds=5))

    assert alarmed == []
    assert log.transitions("timeliness") == ["opened"]
    assert log.incidents[0].at == NOON + 11 * MINUTE


def test_a_heartbeat_of_a_run_retired_long_ago_takes_nothing_back() -> None:
    log = Log()
    log.append(started("old", NOON, backfill=True), ended("old", NOON))
    log.history(20)

    log.append(heartbeat("old", NOON))

    assert log.newest("old").backfill is None
    assert log.newest("old").run_id == identity("old")


def test_two_ends_conflict_in_either_order() -> None:
    first, second = ended("a", NOON, labels={"x": "1"}), ended("a", NOON + MINUTE, "failed")
    one, other = Log(), Log()

    one.append(first)
    one.append(second)
    other.append(second)
    other.append(first)

    assert one.newest("a").flags == other.newest("a").flags == ("conflicting_end",)
    assert one.newest("a").labels_ended == {}
