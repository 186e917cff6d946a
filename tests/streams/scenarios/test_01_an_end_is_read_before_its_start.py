"""Scenario 1: the end of a run (10:05) is read before its start (10:00), from two producers."""

from __future__ import annotations

from datetime import timedelta

from folds.log import Log, ended, started
from folds.schedules import DAY, MINUTE, pulses, utc
from watchline.streams.declarations import Declared
from watchline.streams.detection import unpack
from watchline.streams.instants import SECOND
from watchline.streams.rows import unpack_run

TEN = utc("2026-12-01 10:00")
START, END = started("r1", TEN, heartbeat_seconds=30), ended("r1", TEN + 5 * MINUTE)
LIMITED = Declared(timeliness_limit=3600 * SECOND)


def test_it_is_one_run_with_both_times_and_its_duration() -> None:
    log = Log(LIMITED)

    log.append(END, START)

    run = log.newest("r1")
    assert (run.status, run.started_at, run.ended_at) == ("succeeded", TEN, TEN + 5 * MINUTE)
    assert run.duration_seconds == 300
    assert {record.run_id for record in log.runs} == {run.run_id}


def test_a_duration_that_the_end_brings_is_learnt_once_whichever_comes_first() -> None:
    end = ended("r1", TEN + 5 * MINUTE, started_at=TEN, duration_ms=300_000)  # as the SDK sends it
    orderly, turned = Log(LIMITED), Log(LIMITED)

    orderly.append(START, end)
    turned.append(end)
    turned.append(START)

    assert unpack(turned.row.baselines["duration_seconds"]).runs == 1
    assert turned.row.baselines == orderly.row.baselines


def test_a_duration_that_only_the_late_start_gives_is_shown_and_not_learnt() -> None:
    """A run is judged when its end is read, and never again."""
    log = Log(LIMITED)

    log.append(END)
    log.append(START)

    assert log.newest("r1").duration_seconds == 300
    assert "duration_seconds" not in log.row.baselines


def test_nothing_waits_for_its_end_any_more() -> None:
    log = Log(LIMITED)
    log.append(END, START)

    pulses(log, TEN + 6 * MINUTE, TEN + DAY + timedelta(hours=1), every=10 * MINUTE)

    assert log.row.open == []
    assert [unpack_run(packed).run_id for packed in log.row.ended] == [START.run_id.bytes]
    assert log.incidents == []
