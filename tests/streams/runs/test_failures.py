"""Failed runs: one incident from the first bad outcome to the next good one."""

from __future__ import annotations

from datetime import timedelta

from folds.log import NOON, Log, ended, identity, started
from watchline.schemas import Mute
from watchline.schemas.declaration import Retries
from watchline.streams.declarations import Declared

MINUTE = timedelta(minutes=1)


def test_a_failure_opens_an_incident_that_the_next_success_resolves() -> None:
    log = Log(Declared(owner="sales"))

    log.append(ended("a", NOON, "failed", error={"type": "ValueError", "message": "boom"}))
    log.append(ended("b", NOON + MINUTE))

    opened, resolved = log.incidents
    assert (opened.kind, opened.transition, opened.severity, opened.owner) == ("failure", "opened", "fail", "sales")
    assert opened.facts[0].value == "ValueError: boom"
    assert (resolved.transition, resolved.resolve_reason) == ("resolved", "recovered")
    assert resolved.incident_id == opened.incident_id
    assert resolved.resolved_at == NOON + MINUTE
    assert resolved.cause_at == opened.cause_at == NOON


def test_further_failures_join_the_open_incident() -> None:
    log = Log()

    for n in range(3):
        log.append(ended(n, NOON + n * MINUTE, "failed"))

    assert log.transitions("failure") == ["opened", "updated", "updated"]
    assert len({it.incident_id for it in log.incidents}) == 1


def test_a_failure_older_than_a_known_success_opens_nothing() -> None:
    log = Log()
    log.append(ended("new", NOON))

    log.append(ended("old", NOON - MINUTE, "failed"))

    assert log.incidents == []


def test_an_aborted_run_warns_and_a_failed_one_raises_it() -> None:
    log = Log()

    log.append(ended("a", NOON, "aborted"), ended("b", NOON + MINUTE, "failed"))

    assert [it.severity for it in log.incidents] == ["warn", "fail"]


def test_a_muted_an_inactive_and_a_backfill_failure_open_nothing() -> None:
    muted = Log(Declared(mutes=(Mute(check="failure"),)))
    inactive = Log(Declared(active=False))
    backfill = Log()

    muted.append(ended("a", NOON, "failed"))
    inactive.append(ended("a", NOON, "failed"))
    backfill.append(ended("a", NOON, "failed", backfill=True))

    assert muted.incidents == inactive.incidents == backfill.incidents == []


def test_a_mute_that_has_ended_no_longer_mutes() -> None:
    log = Log(Declared(mutes=(Mute(check="all", until=NOON),)))

    log.append(ended("a", NOON - MINUTE, "failed"), ended("b", NOON + MINUTE, "failed"))

    assert log.transitions("failure") == ["opened"]
    assert log.incidents[0].at == NOON + MINUTE


def test_a_replay_makes_the_same_incident() -> None:
    first, second = Log(), Log()

    for log in (first, second):
        log.append(ended("a", NOON, "failed"))

    assert first.incidents == second.incidents


def test_success_then_failure_reported_for_one_run_settles_on_the_later() -> None:
    log = Log()

    log.append(ended("a", NOON, "succeeded", inserts=1), ended("a", NOON + MINUTE, "failed"))

    assert log.newest("a").status == "failed"
    assert "conflicting_end" in log.newest("a").flags
    assert log.transitions("failure") == ["opened"]


def overlapping() -> Log:
    """A long run, and beside it a short one that began later and has succeeded already."""
    log = Log()
    log.append(started("long", NOON - 60 * MINUTE), started("short", NOON - 30 * MINUTE))
    log.append(ended("short", NOON - 20 * MINUTE, started_at=NOON - 30 * MINUTE))
    return log


def test_a_run_that_fails_after_one_that_began_later_has_succeeded_is_told() -> None:
    log = overlapping()

    log.append(ended("long", NOON, "failed"))

    assert [(it.transition, it.at, it.run_id) for it in log.incidents] == [("opened", NOON, identity("long"))]


def test_and_the_next_run_that_succeeds_ends_it() -> None:
    log = overlapping()
    log.append(ended("long", NOON, "failed"))

    log.append(ended("next", NOON + MINUTE, started_at=NOON - 10 * MINUTE))

    assert log.transitions("failure") == ["opened", "resolved"]


def test_or_its_own_next_attempt_that_does() -> None:
    log = overlapping()
    log.append(ended("long", NOON, "failed", attempt=1))

    log.append(started("long", NOON, attempt=2), ended("long", NOON, attempt=2))

    assert log.transitions("failure") == ["opened", "resolved"]


def test_but_no_success_of_another_run_that_began_earlier_does() -> None:
    log = overlapping()
    log.append(started("longer", NOON - 90 * MINUTE), ended("long", NOON, "failed"))

    log.append(ended("longer", NOON + MINUTE))

    assert log.transitions("failure") == ["opened"]


def test_a_failure_of_before_a_later_run_had_succeeded_is_no_news_when_it_is_read_after_that() -> None:
    log = overlapping()

    log.append(ended("long", NOON - 25 * MINUTE, "failed"))

    assert log.incidents == []


def test_a_run_that_fails_beside_one_that_succeeded_waits_for_its_next_attempt_if_one_should_come() -> None:
    log = overlapping()
    log.declared = Declared(retries=Retries(limit=2, wait_seconds=600))
    log.pulse(NOON - MINUTE)

    log.append(ended("long", NOON, "failed", attempt=1))
    held = log.transitions("failure")
    log.pulse(NOON + 11 * MINUTE)

    assert held == []
    assert log.transitions("failure") == ["opened"]


def test_a_success_by_a_clock_that_runs_ahead_hides_no_failure_that_comes_after_it() -> None:
    log = overlapping()
    log.append(ended("b", NOON + 600 * MINUTE, started_at=NOON - 10 * MINUTE), now=NOON)

    log.append(ended("long", NOON + MINUTE, "failed"), now=NOON + MINUTE)

    assert log.transitions("failure") == ["opened"]
