"""Runs that promised heartbeats and fell silent."""

from __future__ import annotations

from datetime import datetime, timedelta

from folds.log import NOON, Log, ended, heartbeat, identity, started
from watchline.schemas import Mute
from watchline.schemas.events import Producer
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND
from watchline.streams.runs.desk import Rhythm

MINUTE = timedelta(minutes=1)
HALF = timedelta(seconds=30)


def pulses(log: Log, since: datetime, until: datetime, *, step: timedelta = timedelta(seconds=5)) -> None:
    """The pulses after `since` up to and with `until`."""
    while (since := since + step) <= until:
        log.pulse(since)


def silent(log: Log, *, beats: int = 5, **fields: object) -> datetime:
    """A run that starts at noon, shows `beats` times that it is alive, every 30 s, and then no more; the last time."""
    log.pulse(NOON)
    log.append(started("a", NOON, heartbeat_seconds=30, **fields))
    for n in range(beats):
        pulses(log, NOON + n * HALF, NOON + (n + 1) * HALF)
        log.append(heartbeat("a", NOON + (n + 1) * HALF))
    return NOON + beats * HALF


def test_a_run_is_lost_after_three_missed_heartbeats_and_not_before() -> None:
    log = Log()
    last = silent(log, producer=Producer(host="etl-7"))

    pulses(log, last, last + 3 * HALF)
    before = log.transitions("lost")
    pulses(log, last + 3 * HALF, last + 3 * HALF + timedelta(seconds=15))

    assert before == []
    assert log.transitions("lost") == ["opened"]
    assert log.newest("a").status == "lost"
    assert log.incidents[0].severity == "fail"
    assert "etl-7" in log.incidents[0].title
    assert log.incidents[0].facts[0].note == f"last heard of {last:%Y-%m-%d %H:%M:%S} UTC"


def test_a_late_end_repairs_the_run_and_counts_as_a_false_lost() -> None:
    log = Log()
    last = silent(log)
    pulses(log, last, last + 5 * MINUTE)

    log.append(ended("a", last + 2 * MINUTE), now=last + 20 * MINUTE)

    assert log.transitions("lost") == ["opened", "resolved"]
    assert log.incidents[-1].resolve_reason == "arrived_late"
    assert log.newest("a").status == "succeeded"
    assert log.newest("a").ended_at == last + 2 * MINUTE
    assert "false_lost" in log.newest("a").flags


def test_a_heartbeat_finds_a_lost_run_again() -> None:
    log = Log()
    last = silent(log)
    pulses(log, last, last + 5 * MINUTE)

    log.append(heartbeat("a", last + 5 * MINUTE))
    again = log.newest("a").status
    pulses(log, last + 5 * MINUTE, last + 10 * MINUTE)

    assert again == "running"
    assert log.transitions("lost") == ["opened", "resolved", "opened"]


def test_a_repeated_old_heartbeat_keeps_no_run_alive() -> None:
    log = Log()
    last = silent(log)

    for n in range(1, 9):
        log.append(heartbeat("a", last))
        pulses(log, last + (n - 1) * HALF, last + n * HALF)

    assert log.transitions("lost") == ["opened"]


def test_a_heartbeat_after_the_end_changes_nothing() -> None:
    log = Log()
    last = silent(log)
    log.append(ended("a", last + timedelta(seconds=10)))

    log.append(heartbeat("a", last + MINUTE))
    pulses(log, last, last + 10 * MINUTE)

    assert log.incidents == []
    assert log.newest("a").status == "succeeded"


def test_a_run_that_promised_no_heartbeat_is_never_lost() -> None:
    log = Log()
    log.append(started("a", NOON))

    pulses(log, NOON, NOON + timedelta(hours=2), step=MINUTE)

    assert log.incidents == []


def test_a_job_whose_clock_runs_an_hour_behind_is_not_lost() -> None:
    log = Log()
    behind = timedelta(hours=1)
    log.pulse(NOON)
    log.append(started("a", NOON - behind, heartbeat_seconds=30))

    for n in range(1, 10):
        pulses(log, NOON + (n - 1) * HALF, NOON + n * HALF)
        log.append(heartbeat("a", NOON + n * HALF - behind))

    assert log.transitions("lost") == []


def test_an_overdue_run_that_is_lost_has_one_incident_that_gets_worse() -> None:
    log = Log(Declared(timeliness_limit=60 * SECOND))
    last = silent(log)

    pulses(log, last, last + 5 * MINUTE)

    assert log.transitions("lost") == []
    assert log.transitions("timeliness") == ["opened", "updated"]
    assert [it.severity for it in log.incidents] == ["warn", "fail"]


def test_a_lost_run_is_not_overdue_as_well() -> None:
    log = Log(Declared(timeliness_limit=600 * SECOND))
    last = silent(log)

    pulses(log, last, last + 30 * MINUTE)

    assert [(it.kind, it.transition) for it in log.incidents] == [("lost", "opened")]
    assert not log.newest("a").overdue


def test_overlapping_runs_are_lost_apart() -> None:
    log = Log()
    log.pulse(NOON)
    log.append(started("a", NOON, heartbeat_seconds=30), started("b", NOON, heartbeat_seconds=300))

    pulses(log, NOON, NOON + 5 * MINUTE)

    assert [it.subject for it in log.incidents] == [str(identity("a"))]


def test_the_success_of_the_next_run_does_not_find_the_lost_one() -> None:
    log = Log()
    last = silent(log)
    pulses(log, last, last + 5 * MINUTE)

    log.append(started("b", last + 6 * MINUTE), ended("b", last + 7 * MINUTE))

    assert log.transitions("lost") == ["opened"]


def test_a_lost_backfill_is_recorded_and_nobody_is_called() -> None:
    log = Log()
    last = silent(log, backfill=True)

    pulses(log, last, last + 5 * MINUTE)

    assert log.incidents == []
    assert log.newest("a").status == "lost"


def test_a_muted_loss_is_recorded_and_nobody_is_called() -> None:
    log = Log(Declared(mutes=(Mute(check="lost"),)))
    last = silent(log)

    pulses(log, last, last + 5 * MINUTE)

    assert log.incidents == []
    assert log.newest("a").status == "lost"


def test_after_a_gap_of_pulses_nobody_is_lost_before_the_settle_time() -> None:
    log = Log(rhythm=Rhythm(pulse=5, settle=30, epoch=0))
    last = silent(log)
    pulses(log, last, last + MINUTE)

    log.pulse(last + 20 * MINUTE)
    log.append(heartbeat("a", last + 19 * MINUTE))
    pulses(log, last + 20 * MINUTE, last + 21 * MINUTE)

    assert log.transitions("lost") == []


def test_a_run_that_nobody_heard_of_for_a_month_is_given_up() -> None:
    log = Log()
    last = silent(log)
    pulses(log, last, last + 5 * MINUTE)

    log.pulse(last + timedelta(days=29))
    before = log.row.open
    log.pulse(last + timedelta(days=31))

    assert len(before) == 1
    assert log.row.open == []
    assert log.incidents[-1].resolve_reason == "expired"


def test_a_run_of_long_ago_that_is_read_anew_is_neither_lost_nor_forgotten() -> None:
    log = Log()
    long_ago = NOON - timedelta(days=400)
    log.append(started("a", long_ago, heartbeat_seconds=30))
    log.pulse(NOON)

    pulses(log, NOON, NOON + MINUTE)
    log.append(ended("a", long_ago + MINUTE))

    assert log.incidents == []
    assert log.newest("a").status == "succeeded"
    assert log.newest("a").flags == ()
