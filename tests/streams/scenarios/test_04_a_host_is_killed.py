"""Scenario 4: a run promises a heartbeat every 30 s, sends five, and its host is gone."""

from __future__ import annotations

from datetime import timedelta

from folds.log import Log, heartbeat, identity, started
from folds.schedules import HOUR, utc
from watchline.schemas.events import Producer
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND

TEN = utc("2026-12-01 10:00")
HALF, PULSE = timedelta(seconds=30), timedelta(seconds=5)
LAST = TEN + 5 * HALF
LIMITED = Declared(timeliness_limit=24 * 3600 * SECOND)


def killed() -> Log:
    """A pulse every five seconds, up to the last heartbeat."""
    log = Log(LIMITED)
    log.pulse(TEN)
    log.append(started("r1", TEN, heartbeat_seconds=30, producer=Producer(host="etl-7")))
    for n in range(30):
        log.pulse(TEN + (n + 1) * PULSE)
        if (n + 1) % 6 == 0:
            log.append(heartbeat("r1", TEN + (n + 1) * PULSE))
    return log


def test_it_is_lost_after_three_missed_heartbeats_and_not_after_its_limit() -> None:
    log = killed()

    at = LAST
    while not log.incidents and at < LAST + HOUR:
        at += PULSE
        log.pulse(at)

    # three pulses more: a heartbeat counts from the pulse before which it was read for certain
    assert LAST + 3 * HALF <= at <= LAST + 3 * HALF + 3 * PULSE
    assert [(it.kind, it.transition, it.severity, it.subject) for it in log.incidents] == [
        ("lost", "opened", "fail", str(identity("r1")))
    ]
    assert log.newest("r1").status == "lost"


def test_people_are_told_the_host_and_when_it_was_last_heard_of() -> None:
    log = killed()

    for n in range(1, 25):
        log.pulse(LAST + n * PULSE)

    assert "etl-7" in log.incidents[0].title
    assert log.incidents[0].facts[0].note == f"last heard of {LAST:%Y-%m-%d %H:%M:%S} UTC"
    assert log.incidents[0].run_id == identity("r1")
