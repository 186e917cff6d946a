"""Scenario 5: as scenario 4, but the end comes 20 minutes later from the disk of the host."""

from __future__ import annotations

from datetime import timedelta

from folds.log import Log, ended, heartbeat, started
from folds.schedules import HOUR, MINUTE, pulses, utc

TEN = utc("2026-12-01 10:00")
HALF, PULSE = timedelta(seconds=30), timedelta(seconds=5)
DONE = TEN + 8 * MINUTE


def cut_off() -> Log:
    """Lost at about 10:04; the job itself goes on to 10:08, and 10:28 is when that is heard."""
    log = Log()
    log.pulse(TEN)
    log.append(started("r1", TEN, heartbeat_seconds=30))
    for n in range(1, 6):
        pulses(log, TEN + (n - 1) * HALF + PULSE, TEN + n * HALF, every=PULSE)
        log.append(heartbeat("r1", TEN + n * HALF))
    pulses(log, TEN + 5 * HALF + PULSE, TEN + 28 * MINUTE, every=PULSE)
    return log


def test_the_run_is_repaired_to_its_true_times() -> None:
    log = cut_off()
    before = log.newest("r1").status

    log.append(ended("r1", DONE), now=TEN + 28 * MINUTE)

    run = log.newest("r1")
    assert before == "lost"
    assert (run.status, run.ended_at, run.duration_seconds) == ("succeeded", DONE, 480)


def test_its_incident_ends_as_arrived_late_and_there_is_no_other() -> None:
    log = cut_off()

    log.append(ended("r1", DONE), now=TEN + 28 * MINUTE)
    pulses(log, TEN + 28 * MINUTE + PULSE, TEN + HOUR, every=PULSE)

    assert [(it.kind, it.transition) for it in log.incidents] == [("lost", "opened"), ("lost", "resolved")]
    assert log.incidents[0].incident_id == log.incidents[1].incident_id  # one message, edited
    assert log.incidents[1].resolve_reason == "arrived_late"


def test_it_is_counted_as_a_false_lost() -> None:
    log = cut_off()

    log.append(ended("r1", DONE), now=TEN + 28 * MINUTE)

    assert log.newest("r1").flags.count("false_lost") == 1
    assert log.row.open == []
