"""Commands of people in the log: acknowledge, resolve, snooze, mute."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from folds.log import NOON, Log, commanded, ended, started
from watchline.schemas import (
    IncidentAcknowledged,
    IncidentResolved,
    IncidentSnoozed,
    Mute,
    PipelineMuted,
    PipelineUnmuted,
)
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
LIMITED = Declared(
    freshness_limit=3600 * SECOND, timeliness_limit=600 * SECOND, first_declared_at=to_micros(NOON - 10 * HOUR)
)


def failing() -> Log:
    """A log with one failure, which is told."""
    log = Log()
    log.append(ended("a", NOON, "failed"))
    return log


def stale() -> Log:
    """A log whose data turned stale at noon."""
    log = Log(LIMITED)
    log.append(ended("a", NOON - HOUR, inserts=1))
    log.pulse(NOON)
    return log


def about(kind: Any, log: Log, at: datetime = NOON, **fields: Any) -> Any:
    """A command about the incident that opened last."""
    return commanded(kind, at, incident_id=log.incidents[-1].incident_id, **fields)


def outcomes(log: Log) -> list[tuple[str, str]]:
    return [(command.outcome, command.detail) for command in log.commands]


def test_an_acknowledgement_says_who_and_when_and_stays_until_the_end() -> None:
    log = failing()

    log.append(about(IncidentAcknowledged, log, NOON + MINUTE, note="on it"), now=NOON + HOUR)
    log.append(ended("b", NOON + HOUR), now=NOON + HOUR)

    _, care, end = log.incidents
    assert (care.transition, care.by, care.note, care.at) == ("acknowledged", "ada@etl-1", "on it", NOON + MINUTE)
    assert (end.transition, end.acknowledged_by, end.acknowledged_at) == ("resolved", "ada@etl-1", NOON + MINUTE)
    assert outcomes(log) == [("applied", "")]


def test_what_gets_worse_is_nobodys_again() -> None:
    log = Log()
    log.append(ended("a", NOON, "aborted"))
    log.append(about(IncidentAcknowledged, log, note="it was me"))

    log.append(ended("b", NOON + MINUTE, "failed"))

    worse = log.incidents[-1]
    assert (worse.transition, worse.severity) == ("updated", "fail")
    assert (worse.acknowledged_at, worse.acknowledged_by, worse.snoozed_until, worse.note) == (None, None, None, None)


def test_what_does_not_get_worse_stays_acknowledged() -> None:
    log = failing()
    log.append(about(IncidentAcknowledged, log))

    log.append(ended("b", NOON + MINUTE, "failed"))

    assert log.incidents[-1].acknowledged_by == "ada@etl-1"


def test_an_incident_is_acknowledged_once() -> None:
    log = failing()
    log.append(about(IncidentAcknowledged, log))

    log.append(about(IncidentAcknowledged, log, by="bob@etl-2"))

    assert log.transitions("failure") == ["opened", "acknowledged"]
    assert outcomes(log)[1] == ("ignored", "ada@etl-1 acknowledged it at 2026-11-30 12:00:00 UTC")


def test_an_incident_closed_by_hand_says_by_whom() -> None:
    log = failing()

    log.append(about(IncidentResolved, log, NOON + MINUTE, note="known"), now=NOON + HOUR)

    end = log.incidents[-1]
    assert (end.transition, end.resolve_reason, end.by, end.note) == ("resolved", "manual", "ada@etl-1", "known")
    assert end.resolved_at == NOON + MINUTE
    assert log.row.incidents == []


def test_a_failure_after_one_that_was_closed_by_hand_is_told() -> None:
    log = failing()
    log.append(about(IncidentResolved, log))

    log.append(ended("b", NOON + MINUTE, "failed"))

    assert log.transitions("failure") == ["opened", "resolved", "opened"]


def test_stale_data_closed_by_hand_stays_quiet_until_it_has_been_fresh_once() -> None:
    log = stale()
    log.append(about(IncidentResolved, log))

    log.pulse(NOON + HOUR)
    before = log.transitions("freshness")
    log.append(ended("b", NOON + HOUR, inserts=1), now=NOON + HOUR)
    log.pulse(NOON + 1.5 * HOUR)
    log.pulse(NOON + 2 * HOUR)

    assert before == ["opened", "resolved"]
    assert log.transitions("freshness") == ["opened", "resolved", "opened"]


def test_a_longer_limit_makes_quiet_data_fresh_so_the_next_time_it_is_told() -> None:
    log = stale()
    log.append(about(IncidentResolved, log))
    log.pulse(NOON + MINUTE)

    log.declared = Declared(freshness_limit=2 * 3600 * SECOND, first_declared_at=LIMITED.first_declared_at)
    log.desk.wake(b"orders_daily")
    log.pulse(NOON + 2 * MINUTE)
    log.pulse(NOON + HOUR)

    assert log.transitions("freshness") == ["opened", "resolved", "opened"]


def test_an_overdue_run_closed_by_hand_is_not_told_again_at_the_next_pulse() -> None:
    log = Log(Declared(timeliness_limit=600 * SECOND))
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)
    log.append(about(IncidentResolved, log))

    log.pulse(NOON + 12 * MINUTE)
    log.append(ended("a", NOON + 13 * MINUTE))

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_a_snooze_ends_with_a_reminder_while_the_incident_is_open() -> None:
    log = failing()
    log.append(about(IncidentSnoozed, log, until=NOON + HOUR))

    log.pulse(NOON + 0.9 * HOUR)
    before = log.transitions("failure")
    log.pulse(NOON + 1.1 * HOUR)
    log.pulse(NOON + 1.2 * HOUR)

    assert before == ["opened", "snoozed"]
    assert log.transitions("failure") == ["opened", "snoozed", "woken"]
    assert [it.snoozed_until for it in log.incidents] == [None, NOON + HOUR, None]
    assert log.incidents[-1].at == NOON + HOUR


def test_a_snoozed_incident_that_ends_sleeps_on() -> None:
    log = failing()
    log.append(about(IncidentSnoozed, log, until=NOON + HOUR))
    log.append(ended("b", NOON + MINUTE))

    log.pulse(NOON + 2 * HOUR)

    assert log.transitions("failure") == ["opened", "snoozed", "resolved"]


@pytest.mark.parametrize(
    ("first", "second"), [(IncidentAcknowledged, IncidentSnoozed), (IncidentSnoozed, IncidentAcknowledged)]
)
def test_of_an_acknowledgement_and_a_snooze_the_later_holds(first: Any, second: Any) -> None:
    log = failing()
    for kind in (first, second):
        log.append(about(kind, log, **({"until": NOON + HOUR} if kind is IncidentSnoozed else {})))

    last = log.incidents[-1]

    assert (last.acknowledged_at is None) == (second is IncidentSnoozed)
    assert (last.snoozed_until is None) == (second is IncidentAcknowledged)


def test_a_snooze_that_is_over_before_it_begins_changes_nothing() -> None:
    log = failing()

    log.append(about(IncidentSnoozed, log, until=NOON))

    assert log.transitions("failure") == ["opened"]
    assert outcomes(log) == [("ignored", "the snooze would have ended before it began")]


@pytest.mark.parametrize("kind", [IncidentAcknowledged, IncidentResolved])
def test_a_command_about_an_incident_that_is_unknown_or_over_changes_nothing(kind: Any) -> None:
    log = failing()
    over = about(kind, log)
    log.append(ended("b", NOON + MINUTE))
    before = log.transitions("failure")

    log.append(over, commanded(kind, incident_id=uuid4()))

    assert log.transitions("failure") == before
    assert {outcome for outcome, _ in outcomes(log)} == {"ignored"}


def test_a_mute_ends_what_is_open_and_hides_what_comes_until_it_ends() -> None:
    log = stale()
    log.append(commanded(PipelineMuted, check="freshness", until=NOON + 2 * HOUR, reason="migration"))

    log.pulse(NOON + MINUTE)
    log.pulse(NOON + 1.9 * HOUR)
    muted = log.transitions("freshness")
    log.pulse(NOON + 2 * HOUR)

    assert muted == ["opened", "resolved"]
    assert log.incidents[1].resolve_reason == "paused"
    assert log.transitions("freshness") == ["opened", "resolved", "opened"]
    assert log.commands[0].note == "migration"


def test_a_worker_that_has_just_started_ends_what_was_muted_before() -> None:
    log = stale()
    log.append(commanded(PipelineMuted, check="freshness", until=NOON + 2 * HOUR))

    log.desk.deadlines = None
    log.pulse(NOON + MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved"]


def test_what_is_unmuted_is_watched_at_the_next_pulse() -> None:
    log = stale()
    log.append(commanded(PipelineMuted, check="all", until=NOON + 2 * HOUR))
    log.pulse(NOON + MINUTE)

    log.append(commanded(PipelineUnmuted))
    log.pulse(NOON + 2 * MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved", "opened"]


def test_a_mute_of_one_check_leaves_the_others() -> None:
    log = Log()
    log.append(commanded(PipelineMuted, check="freshness", until=NOON + HOUR))

    log.append(ended("a", NOON, "failed"))

    assert log.transitions("failure") == ["opened"]


def test_a_mute_in_the_same_batch_holds_for_what_comes_behind_it() -> None:
    log = Log()

    log.append(commanded(PipelineMuted, check="failure", until=NOON + HOUR), ended("a", NOON, "failed"))

    assert log.incidents == []


def test_what_a_declaration_mutes_no_command_unmutes() -> None:
    log = Log(Declared(mutes=(Mute(check="failure"),)))

    log.append(commanded(PipelineUnmuted, check="failure"), ended("a", NOON, "failed"))

    assert log.incidents == []
    assert outcomes(log) == [("ignored", "no such mute was given by command")]


def test_the_row_keeps_one_mute_a_check_and_forgets_those_that_are_over() -> None:
    log = Log()
    for n in range(50):
        until = NOON + (n + 1) * MINUTE
        log.append(commanded(PipelineMuted, NOON, check=("all", "failure", "lost")[n % 3], until=until))
    assert len(log.row.mutes) == 3

    log.append(commanded(PipelineMuted, NOON + 2 * HOUR, until=NOON + 3 * HOUR), now=NOON + 2 * HOUR)

    assert log.row.mutes == {"all": to_micros(NOON + 3 * HOUR)}


def test_a_command_read_again_after_a_crash_says_and_does_the_same() -> None:
    log = failing()
    rows, record = dict(log.rows), log.record(about(IncidentAcknowledged, log))

    log.take([record])
    log.rows = rows
    log.take([record])

    assert log.incidents[1] == log.incidents[2]
    assert log.commands[0] == log.commands[1]
