"""Clocks that ran ahead, gaps and times that can't be written: nothing is lost, hidden or stopped by them."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from folds.log import NOON, Log, ended, heartbeat, started
from watchline.schemas import WatermarkAdvanced
from watchline.schemas.declaration import Retries
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.pulses import decode_pulse
from watchline.streams.runs.desk import Rhythm
from watchline.streams.watermarks import position_of

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
RETRIED = Declared(retries=Retries(limit=2, wait_seconds=600), timeliness_limit=3600 * SECOND)


def pulses(log: Log, since: datetime, until: datetime) -> None:
    """A pulse every five seconds."""
    while since <= until:
        log.pulse(since)
        since += timedelta(seconds=5)


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_no_zone_can_write_is_neither_a_watermark_nor_a_pulse(moment: str) -> None:
    event = WatermarkAdvanced(
        event_id=started("a").event_id, occurred_at=NOON, pipeline="x", watermark=moment, kind="timestamp"
    )

    assert position_of(event.kind, event.watermark) is None
    assert decode_pulse(b'{"pulse":"%s"}' % moment.encode()) is None


def test_an_attempt_that_is_older_than_the_newest_outcome_leaves_no_incident_open() -> None:
    log = Log(RETRIED)
    log.append(started("a", NOON))
    log.pulse(NOON + 70 * MINUTE)
    log.append(started("b", NOON + 71 * MINUTE), ended("b", NOON + 72 * MINUTE), now=NOON + 72 * MINUTE)

    log.append(ended("a", NOON + 71.5 * MINUTE, "failed", attempt=1), now=NOON + 75 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_an_attempt_that_fails_after_the_newest_outcome_waits_for_another_one_and_then_leaves_the_failure() -> None:
    log = Log(RETRIED)
    log.append(started("a", NOON))
    log.pulse(NOON + 70 * MINUTE)
    log.append(started("b", NOON + 71 * MINUTE), ended("b", NOON + 72 * MINUTE), now=NOON + 72 * MINUTE)
    log.append(ended("a", NOON + 75 * MINUTE, "failed", attempt=1), now=NOON + 75 * MINUTE)

    log.pulse(NOON + 86 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]
    assert log.transitions("failure") == ["opened"]


def test_a_failed_backfill_leaves_no_incident_open() -> None:
    log = Log(RETRIED)
    log.append(started("a", NOON))
    log.pulse(NOON + 70 * MINUTE)

    log.append(ended("a", NOON + 75 * MINUTE, "failed", attempt=1, backfill=True), now=NOON + 75 * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_a_host_whose_clock_runs_ahead_hides_no_failure() -> None:
    log = Log(replace(RETRIED, timeliness_limit=None))
    log.pulse(NOON)
    log.append(ended("a", NOON + 20 * HOUR, "failed", attempt=1), now=NOON)

    pulses(log, NOON, NOON + 11 * MINUTE)

    assert log.transitions("failure") == ["opened"]


def test_pulses_that_ran_ahead_hide_no_failure_once_they_are_right() -> None:
    log = Log(replace(RETRIED, timeliness_limit=None))
    log.pulse(NOON + 10 * DAY)
    log.append(ended("a", NOON, "failed", attempt=1), now=NOON)

    pulses(log, NOON, NOON + 11 * MINUTE)

    assert log.transitions("failure") == ["opened"]


def test_an_incident_whose_condition_went_by_a_clock_ahead_ends_once_it_is_right() -> None:
    log = Log(Declared(freshness_limit=3600 * SECOND, keep_firing=(("freshness", 300 * SECOND),)))
    log.append(ended("a", NOON, inserts=1))
    log.pulse(NOON + 10 * DAY)

    log.append(ended("b", NOON + MINUTE, inserts=1), now=NOON + MINUTE)
    pulses(log, NOON + MINUTE, NOON + 10 * MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved"]


def test_a_host_that_dies_after_a_clock_ran_ahead_is_lost_all_the_same() -> None:
    log = Log()
    log.pulse(NOON)
    log.append(started("a", NOON, heartbeat_seconds=30))
    log.pulse(NOON + DAY)
    log.append(heartbeat("a", NOON + MINUTE))

    pulses(log, NOON + MINUTE, NOON + 5 * MINUTE)

    assert log.transitions("lost") == ["opened"]


def test_a_jump_of_ten_days_loses_no_run() -> None:
    log = Log()
    pulses(log, NOON, NOON + MINUTE)
    log.append(*(started(n, NOON, heartbeat_seconds=300) for n in range(60)))

    pulses(log, NOON + 10 * DAY, NOON + 10 * DAY + 3 * MINUTE)

    assert log.incidents == []


def test_a_gap_of_pulses_loses_no_run_that_is_heard_of_soon_after_it() -> None:
    log = Log(rhythm=Rhythm(pulse=5, settle=30, epoch=0))
    pulses(log, NOON, NOON + MINUTE)
    log.append(*(started(n, NOON, heartbeat_seconds=60) for n in range(10)))
    back = NOON + 20 * MINUTE

    pulses(log, back, back + timedelta(seconds=50))
    log.append(*(heartbeat(n, back + timedelta(seconds=50)) for n in range(10)))
    pulses(log, back + timedelta(seconds=55), back + 2 * MINUTE)

    assert log.incidents == []


def test_a_run_that_stays_silent_after_a_gap_is_lost() -> None:
    log = Log(rhythm=Rhythm(pulse=5, settle=30, epoch=0))
    pulses(log, NOON, NOON + MINUTE)
    log.append(started("a", NOON, heartbeat_seconds=60))

    pulses(log, NOON + 20 * MINUTE, NOON + 24 * MINUTE)

    assert log.transitions("lost") == ["opened"]


def test_the_limits_of_a_pipeline_hold_for_a_watermark_that_is_no_time() -> None:
    log = Log(Declared(lag_limit=3600 * SECOND, first_declared_at=to_micros(NOON)))
    log.append(started("a", NOON))

    pulses(log, NOON, NOON + 61 * MINUTE)

    assert log.transitions("freshness") == ["opened"]
