"""Stale data: the age of the last insert, update or delete against its limit."""

from __future__ import annotations

from datetime import timedelta
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
