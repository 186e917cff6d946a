"""What somebody closed by hand stays quiet until it has been well once, but not when it gets worse."""

from __future__ import annotations

from datetime import datetime

from folds.log import NOON, Log, commanded, ended
from folds.schedules import HOUR, MINUTE
from watchline.schemas import IncidentResolved
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.runs.desk import Desk


def getting_old() -> Log:
    """A log whose data has been getting old for half an hour; it is stale at noon."""
    log = Log(
        Declared(
            freshness_limit=3600 * SECOND, freshness_warning=1800 * SECOND,
            first_declared_at=to_micros(NOON - 10 * HOUR),
        )
    )  # fmt: skip
    log.append(ended("a", NOON - HOUR, inserts=1))
    log.pulse(NOON - 30 * MINUTE)
    return log


def close(log: Log, at: datetime) -> None:
    """Somebody closes the incident that was told last."""
    log.append(commanded(IncidentResolved, at, incident_id=log.incidents[-1].incident_id))


def test_data_that_was_getting_old_and_closed_by_hand_is_told_when_it_is_stale() -> None:
    log = getting_old()
    close(log, NOON - 29 * MINUTE)
    log.pulse(NOON - MINUTE)
    warned = [(it.transition, it.severity) for it in log.incidents]

    log.desk = Desk(0)  # another worker goes on
    log.pulse(NOON)
    close(log, NOON)
    for minutes in (1, 60):
        log.pulse(NOON + minutes * MINUTE)

    assert warned == [("opened", "warn"), ("resolved", "warn")]
    assert [(it.transition, it.severity, it.at) for it in log.incidents[2:]] == [
        ("opened", "fail", NOON), ("resolved", "fail", NOON)
    ]  # fmt: skip


def test_stale_data_that_opened_behind_a_closed_warning_ends_and_is_told_the_next_time() -> None:
    log = getting_old()
    close(log, NOON - 29 * MINUTE)
    log.pulse(NOON)

    log.append(ended("b", NOON + MINUTE, inserts=1), now=NOON + MINUTE)
    log.pulse(NOON + 32 * MINUTE)

    assert [(it.transition, it.severity) for it in log.incidents[2:]] == [
        ("opened", "fail"), ("resolved", "fail"), ("opened", "warn")
    ]  # fmt: skip
