"""Stale data: the age of the last insert, update or delete against its limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from folds.log import NOON, Log, ended
from watchline.schemas import Mute
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.runs.desk import Desk

HOUR = timedelta(hours=1)
LIMITED = Declared(freshness_limit=3600 * SECOND, first_declared_at=to_micros(NOON - 10 * HOUR))


def test_data_is_stale_at_the_first_pulse_past_its_limit_and_fresh_after_a_change() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))

    log.pulse(NOON + 0.9 * HOUR)
    log.pulse(NOON + HOUR)
    log.append(ended("b", NOON + 1.5 * HOUR, updates=1), now=NOON + 2 * HOUR)

    assert log.transitions("freshness") == ["opened", "resolved"]
    assert log.incidents[0].at == NOON + HOUR
    assert log.incidents[0].facts[0].value == 3600


@pytest.mark.parametrize("counts", [{"inserts": 0}, {"total_rows": 50}, {}])
def test_a_run_that_changed_nothing_makes_nothing_fresh(counts: dict[str, Any]) -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))

    log.append(ended("b", NOON + 0.5 * HOUR, **counts))
    log.pulse(NOON + HOUR)

    assert log.transitions("freshness") == ["opened"]


def test_a_backfill_makes_nothing_fresh() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))

    log.append(ended("b", NOON + 0.5 * HOUR, inserts=9, backfill=True))
    log.pulse(NOON + HOUR)

    assert log.transitions("freshness") == ["opened"]


def test_a_pipeline_that_never_loaded_is_stale_after_its_limit_from_its_declaration() -> None:
    log = Log(LIMITED)

    log.pulse(NOON - 9.5 * HOUR)
    log.pulse(NOON - 9 * HOUR)

    assert log.transitions("freshness") == ["opened"]
    assert log.incidents[0].facts[0].note == "nothing was ever loaded"


def test_an_old_change_that_arrives_late_neither_opens_nor_resolves() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON - 5 * HOUR, inserts=1))
    log.pulse(NOON)

    log.append(ended("b", NOON - 3 * HOUR, inserts=1))

    assert log.transitions("freshness") == ["opened"]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_change_ends_it_then_also_before_a_worker_that_has_just_started_reads_a_pulse(restarted: bool) -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))
    log.pulse(NOON + HOUR)
    log.desk = Desk(0) if restarted else log.desk

    log.append(ended("b", NOON + 1.5 * HOUR, updates=1), now=NOON + 2 * HOUR)
    log.pulse(NOON + 2 * HOUR)

    assert log.transitions("freshness") == ["opened", "resolved"]
    assert log.incidents[-1].at == NOON + 1.5 * HOUR


@pytest.mark.parametrize("restarted", [False, True])
def test_a_change_that_was_old_when_it_opened_ends_nothing(restarted: bool) -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))
    log.pulse(NOON + 3 * HOUR)
    log.desk = Desk(0) if restarted else log.desk

    log.append(ended("b", NOON + HOUR, updates=1), now=NOON + 3 * HOUR)

    assert log.transitions("freshness") == ["opened"]


def test_a_clock_that_runs_ahead_buys_no_freshness() -> None:
    log = Log(LIMITED)

    log.append(ended("a", NOON + 20 * HOUR, inserts=1), now=NOON)
    log.pulse(NOON + HOUR)

    assert log.transitions("freshness") == ["opened"]


def test_it_opens_once_however_many_pulses_pass() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))

    for n in range(20):
        log.pulse(NOON + HOUR + n * timedelta(minutes=1))

    assert log.transitions("freshness") == ["opened"]


def test_a_mute_that_ends_lets_the_incident_open_then() -> None:
    muted = Mute(check="freshness", until=NOON + 3 * HOUR)
    log = Log(Declared(freshness_limit=3600 * SECOND, mutes=(muted,)))
    log.append(ended("a", NOON, inserts=1))

    for n in range(1, 5):
        log.pulse(NOON + n * HOUR)

    assert [it.at for it in log.incidents] == [NOON + 3 * HOUR]


def test_an_idle_pulse_writes_no_row() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))
    row = log.rows[b"orders_daily"]

    log.pulse(NOON + 0.5 * HOUR)

    assert log.rows[b"orders_daily"] == row


TWO_NUMBERS = Declared(
    freshness_warning=1800 * SECOND, freshness_limit=3600 * SECOND, first_declared_at=to_micros(NOON),
    lag_warning=7200 * SECOND, lag_limit=14_400 * SECOND,
)  # fmt: skip


def lagging(log: Log, reached: datetime | None) -> None:
    """The watermark stands at `reached`."""
    log.watermark_at = None if reached is None else to_micros(reached)
    log.desk.wake(b"orders_daily")


def test_age_warns_first_and_fails_later_in_one_incident() -> None:
    log = Log(TWO_NUMBERS)
    log.append(ended("a", NOON, inserts=1))
    lagging(log, NOON + timedelta(days=1))

    for minutes in (29, 30, 45, 60, 90):
        log.pulse(NOON + timedelta(minutes=minutes))

    assert log.transitions("freshness") == ["opened", "updated"]
    assert [it.severity for it in log.incidents] == ["warn", "fail"]
    assert [it.title for it in log.incidents] == ["data is getting old", "data is stale"]


def test_the_watermark_may_lag_though_the_data_changes() -> None:
    log = Log(TWO_NUMBERS)
    lagging(log, NOON - timedelta(hours=1))

    for minutes in range(0, 240, 10):
        log.append(ended(minutes, NOON + timedelta(minutes=minutes), inserts=1), now=NOON + timedelta(minutes=minutes))
        log.pulse(NOON + timedelta(minutes=minutes))

    assert [(it.transition, it.severity) for it in log.incidents] == [("opened", "warn"), ("updated", "fail")]
    assert [fact.name for fact in log.incidents[-1].facts] == ["lag"]


def test_a_watermark_that_catches_up_resolves_it() -> None:
    log = Log(Declared(lag_limit=3600 * SECOND))
    lagging(log, NOON - timedelta(hours=2))
    log.pulse(NOON)

    lagging(log, NOON - timedelta(minutes=5))
    log.pulse(NOON + timedelta(minutes=1))

    assert log.transitions("freshness") == ["opened", "resolved"]


def test_changed_data_does_not_resolve_a_lagging_watermark() -> None:
    log = Log(replace(TWO_NUMBERS, freshness_warning=None))
    lagging(log, NOON - timedelta(hours=5))
    log.pulse(NOON)

    log.append(ended("a", NOON, inserts=1))
    log.pulse(NOON + timedelta(minutes=1))

    assert log.transitions("freshness") == ["opened"]


def test_a_pipeline_without_a_watermark_lags_from_its_first_declaration() -> None:
    log = Log(Declared(lag_limit=3600 * SECOND, first_declared_at=to_micros(NOON)))
    log.append(ended("a", NOON, inserts=1))

    log.pulse(NOON + timedelta(minutes=59))
    before = log.transitions("freshness")
    log.pulse(NOON + timedelta(minutes=60))

    assert before == []
    assert log.incidents[0].facts[0].note == "no watermark was ever set"


def test_a_backfill_of_old_partitions_makes_nothing_fresh() -> None:
    log = Log(TWO_NUMBERS)
    lagging(log, NOON - timedelta(days=1))
    log.pulse(NOON + timedelta(minutes=61))

    for day in range(400):
        log.append(
            ended(day, NOON + timedelta(minutes=62), inserts=1_000, backfill=True), now=NOON + timedelta(hours=2)
        )
    log.pulse(NOON + timedelta(minutes=63))

    assert log.transitions("freshness") == ["opened"]
    assert log.anomalies == []
