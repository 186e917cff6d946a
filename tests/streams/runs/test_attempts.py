"""Attempts of one run: only the last failure counts, and the run is one whatever the number of its tries."""

from __future__ import annotations

from datetime import timedelta

from folds.log import NOON, Log, ended, identity, started
from watchline.schemas.declaration import Retries
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND
from watchline.streams.runs.failures import MOST_HELD

MINUTE = timedelta(minutes=1)
RETRIED = Declared(retries=Retries(limit=2, wait_seconds=600), timeliness_limit=1500 * SECOND)


def fail(log: Log, attempt: int, *, run: str = "a") -> None:
    """An attempt that starts ten minutes after the one before it, and fails after five."""
    at = NOON + 10 * (attempt - 1) * MINUTE
    log.append(started(run, at, attempt=attempt))
    end = ended(run, at + 5 * MINUTE, "failed", attempt=attempt, error={"message": f"try {attempt}"})
    log.append(end, now=at + 5 * MINUTE)


def test_a_failure_that_another_attempt_mends_is_told_to_nobody() -> None:
    log = Log(RETRIED)
    fail(log, 1)
    fail(log, 2)
    log.append(started("a", NOON + 20 * MINUTE, attempt=3))
    log.append(ended("a", NOON + 24 * MINUTE, attempt=3, duration_ms=240_000))

    log.pulse(NOON + 60 * MINUTE)

    assert log.incidents == []
    assert (log.newest("a").status, log.newest("a").attempt) == ("succeeded", 3)


def test_the_last_attempt_that_fails_is_told_once() -> None:
    log = Log(RETRIED)
    for attempt in (1, 2, 3):
        fail(log, attempt)

    log.pulse(NOON + 60 * MINUTE)

    assert log.transitions("failure") == ["opened"]
    assert log.incidents[0].facts[0].value == "try 3"


def test_a_failure_counts_when_no_other_attempt_comes() -> None:
    log = Log(RETRIED)
    fail(log, 1)

    log.pulse(NOON + 14 * MINUTE)
    before = log.transitions("failure")
    log.pulse(NOON + 15 * MINUTE)

    assert before == []
    assert log.transitions("failure") == ["opened"]
    assert log.incidents[0].facts[0].value == "try 1 (no other attempt came)"


def test_every_attempt_is_told_when_that_is_asked_for() -> None:
    log = Log(Declared(retries=Retries(limit=2, alert_each=True)))

    fail(log, 1)
    fail(log, 2)

    assert log.transitions("failure") == ["opened", "updated"]


def test_without_declared_retries_a_failure_counts_at_once() -> None:
    log = Log()

    fail(log, 1)

    assert log.transitions("failure") == ["opened"]


def test_attempts_with_ids_of_their_own_hold_each_other_back_too() -> None:
    log = Log(RETRIED)
    fail(log, 1, run="first")
    fail(log, 2, run="second")
    log.append(started("third", NOON + 20 * MINUTE, attempt=3))
    log.append(ended("third", NOON + 24 * MINUTE, attempt=3))

    log.pulse(NOON + 60 * MINUTE)

    assert log.transitions("failure") == []


def test_more_failures_than_are_held_back_are_told_the_oldest_first() -> None:
    log = Log(RETRIED)

    for number in range(MOST_HELD + 1):
        log.append(ended(number, NOON + number * timedelta(seconds=1), "failed", error={"message": f"run {number}"}))

    assert len(log.row.held) == MOST_HELD
    assert log.transitions("failure") == ["opened"]
    assert log.incidents[0].facts[0].value == "run 0"


def test_a_run_is_late_once_over_all_of_its_attempts() -> None:
    log = Log(RETRIED)
    fail(log, 1)
    fail(log, 2)
    log.append(started("a", NOON + 20 * MINUTE, attempt=3))

    log.pulse(NOON + 26 * MINUTE)
    fail(log, 3)

    assert log.transitions("timeliness") == ["opened", "resolved"]


def test_a_limit_that_passes_in_the_second_attempt_holds_until_the_third_has_ended() -> None:
    log = Log(Declared(retries=Retries(limit=2), timeliness_limit=720 * SECOND))
    fail(log, 1)
    log.append(started("a", NOON + 10 * MINUTE, attempt=2))
    log.pulse(NOON + 13 * MINUTE)
    log.append(ended("a", NOON + 15 * MINUTE, "failed", attempt=2))

    before = log.transitions("timeliness")
    log.append(started("a", NOON + 20 * MINUTE, attempt=3))
    log.append(ended("a", NOON + 24 * MINUTE, attempt=3))

    assert before == ["opened"]
    assert log.transitions("timeliness") == ["opened", "resolved"]
    assert log.transitions("failure") == []


def test_only_the_attempt_that_succeeded_teaches_how_long_a_run_takes() -> None:
    log = Log(RETRIED)
    fail(log, 1)
    log.append(started("a", NOON + 10 * MINUTE, attempt=2))
    log.append(ended("a", NOON + 14 * MINUTE, attempt=2))

    run = log.newest("a")

    assert run.duration_seconds == 240
    assert run.started_at == NOON


def test_the_end_of_an_attempt_that_comes_late_does_not_end_the_next_one() -> None:
    log = Log(RETRIED)
    log.append(started("a", NOON), started("a", NOON + 10 * MINUTE, attempt=2))

    log.append(ended("a", NOON + 5 * MINUTE, "failed", attempt=1))

    assert [run.run_id for run in log.row.open] == [identity("a").bytes]
    assert log.incidents == []
    assert (log.runs[-1].attempt, log.runs[-1].status) == (1, "failed")  # for the table of attempts


def test_an_end_that_names_no_attempt_ends_the_last_one() -> None:
    log = Log(RETRIED)
    log.append(started("a", NOON), started("a", NOON + 10 * MINUTE, attempt=2))

    log.append(ended("a", NOON + 15 * MINUTE))

    assert log.row.open == []
    assert log.newest("a").status == "succeeded"


def test_another_attempt_of_a_lost_run_does_not_make_the_loss_a_false_one() -> None:
    log = Log()
    log.pulse(NOON)
    log.append(started("a", NOON, heartbeat_seconds=30))
    for n in range(1, 40):
        log.pulse(NOON + n * timedelta(seconds=5))

    log.append(started("a", NOON + 5 * MINUTE, attempt=2, heartbeat_seconds=30))

    assert log.transitions("lost") == ["opened", "resolved"]
    assert log.incidents[-1].resolve_reason == "recovered"
    assert "false_lost" not in log.newest("a").flags
