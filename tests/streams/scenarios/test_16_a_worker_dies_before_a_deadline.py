"""Scenario 16: a worker dies a second before a deadline; another one takes the partition over 50 seconds later.

Each worker writes the pulses of its own partitions, so nobody does in the meantime. The second one has the table and
nothing in memory. A hand-over of at most three pulse intervals is no gap.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from folds.log import Log, heartbeat, identity, started
from folds.schedules import MINUTE, pulses, scheduled, states, utc
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND
from watchline.streams.runs.desk import Desk, Rhythm

TEN = utc("2026-12-01 10:00")
PULSE, SETTLE = timedelta(seconds=5), timedelta(seconds=30)  # the defaults
QUICK, SLOW = timedelta(seconds=10), timedelta(seconds=50)
LIMITED = Declared(timeliness_limit=600 * SECOND)
DUE = TEN + 10 * MINUTE
DEATH = DUE - timedelta(seconds=1)


def settled(declared: Declared) -> Log:
    """Pulses for three minutes, up to ten o'clock."""
    log = Log(declared, Rhythm(pulse=5, settle=30, epoch=0))
    pulses(log, TEN - 3 * MINUTE, TEN, every=PULSE)
    return log


def running() -> Log:
    """At the death r1 is a second from its limit, and r2 has five minutes more."""
    log = settled(LIMITED)
    log.append(started("r1", TEN))
    pulses(log, TEN + PULSE, TEN + 5 * MINUTE, every=PULSE)
    log.append(started("r2", TEN + 5 * MINUTE))
    pulses(log, TEN + 5 * MINUTE + PULSE, DEATH, every=PULSE)
    return log


def take_over(log: Log, away: timedelta, death: datetime = DEATH) -> datetime:
    """Another worker begins with a pulse, `away` after the death."""
    log.desk = Desk(0)
    log.pulse(death + away)
    return death + away


def told(log: Log) -> list[tuple[str, str, datetime]]:
    return [(it.transition, it.subject, it.cause_at) for it in log.incidents]


@pytest.mark.parametrize("away", [QUICK, SLOW], ids=str)
def test_one_incident_is_told_with_the_time_of_the_deadline_and_those_of_other_runs_survive(away: timedelta) -> None:
    log = running()

    back = take_over(log, away)
    pulses(log, back + PULSE, DUE + 5 * MINUTE, every=PULSE)

    assert told(log) == [("opened", str(identity("r1")), DUE), ("opened", str(identity("r2")), DUE + 5 * MINUTE)]


def test_after_a_quick_hand_over_the_first_pulse_decides() -> None:
    """The clock stands in the table, so the second worker knows that nothing is missing."""
    log = running()

    back = take_over(log, QUICK)

    assert [it.at for it in log.incidents] == [back]


def test_after_a_slow_one_it_is_decided_when_the_settle_time_is_over() -> None:
    log = running()

    back = take_over(log, SLOW)
    pulses(log, back + PULSE, back + SETTLE - PULSE, every=PULSE)
    before = len(log.incidents)
    log.pulse(back + SETTLE)

    assert before == 0
    assert [(it.cause_at, it.at) for it in log.incidents] == [(DUE, back + SETTLE)]


def test_the_old_owner_and_the_new_one_say_the_same_transition_which_the_sink_stores_once() -> None:
    old, new = running(), running()

    old.pulse(DEATH + PULSE)  # paused and not dead: it still had that pulse before it
    take_over(new, QUICK)

    first, second = old.incidents[0], new.incidents[0]
    assert (first.incident_id, first.transition_no, first.fingerprint) == (
        second.incident_id, second.transition_no, second.fingerprint
    )  # fmt: skip


@pytest.mark.parametrize(("away", "state", "incidents"), [(QUICK, "missed", ["opened"]), (SLOW, "unknown", [])])
def test_of_a_start_that_is_due_in_a_slow_hand_over_nobody_can_say_that_it_was_missed(
    away: timedelta, state: str, incidents: list[str]
) -> None:
    log = settled(scheduled("5 10 * * *", grace_seconds=300))
    pulses(log, TEN + PULSE, DEATH, every=PULSE)

    back = take_over(log, away)
    pulses(log, back + PULSE, back + 2 * SETTLE, every=PULSE)

    assert states(log) == [state, "expected"]
    assert log.transitions("missed_start") == incidents


@pytest.mark.parametrize("away", [QUICK, SLOW], ids=str)
def test_a_run_that_falls_silent_is_lost_once(away: timedelta) -> None:
    log = settled(Declared())
    log.append(started("r1", TEN, heartbeat_seconds=30))
    pulses(log, TEN + PULSE, TEN + MINUTE, every=PULSE)
    log.append(heartbeat("r1", TEN + MINUTE))

    back = take_over(log, away, TEN + MINUTE + 2 * PULSE)
    pulses(log, back + PULSE, back + 5 * MINUTE, every=PULSE)

    assert log.transitions("lost") == ["opened"]
