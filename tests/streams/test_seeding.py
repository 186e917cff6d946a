"""A row made anew goes on from where the log begins, and nobody hears of what is past."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from folds.log import KEY, NOON, PIPELINE, Log, answered, commanded, ended, identity, started
from watchline.schemas import PipelineMuted
from watchline.schemas.declaration import Retries
from watchline.schemas.records import IncidentFact, IncidentRecord
from watchline.streams.declarations import UNDECLARED, Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import RunsRow, encode_row
from watchline.streams.runs.fold import RunsEvent
from watchline.streams.seeding import Cut, Seed, Standing
from watchline.streams.slots.timetable import read_times

HOUR = timedelta(hours=1)
OFFSET = 1000
FRESH = Declared(freshness_limit=3600 * SECOND, first_declared_at=to_micros(NOON - 24 * HOUR))
DONE_BY = Declared(done_by=read_times("0 9 * * *", "UTC"))


def hourly(count: int, *, rows: int = 100) -> list[RunsEvent]:
    """Runs that succeeded, the last one an hour before noon."""
    at = (NOON - HOUR * (count - n) for n in range(count))
    return [ended(f"past-{n}", when, duration_ms=60_000, inserts=rows + n % 3) for n, when in enumerate(at)]


def seeded(
    events: Sequence[RunsEvent], standing: Standing | None = None, declared: Declared = UNDECLARED, at: datetime = NOON
) -> RunsRow:
    seed = Seed(PIPELINE, declared, now=to_micros(NOON))
    seed.take(events)
    return seed.row_at(Cut(3, OFFSET, to_micros(at)), standing or Standing())


def going_on(row: RunsRow, declared: Declared = UNDECLARED) -> Log:
    """A worker that has recovered the row."""
    return Log(declared, rows={KEY: encode_row(row)}, offset=OFFSET - 1)


def open_incident(kind: str = "failure", **changes: Any) -> IncidentRecord:
    fields = {
        "pipeline": PIPELINE, "revision": 7, "incident_id": identity("incident"), "fingerprint": "f", "kind": kind,
        "transition": "updated", "transition_no": 4, "severity": "fail", "at": NOON - HOUR,
        "opened_at": NOON - 2 * HOUR, "cause_at": NOON - 2 * HOUR, "title": "it is so",
        "facts": (IncidentFact(name="error", value="boom"),),
    }  # fmt: skip
    return IncidentRecord.model_validate(fields | changes)


def test_the_baselines_are_those_of_a_worker_that_has_read_all_of_it() -> None:
    past = [*hourly(40), ended("odd", NOON - HOUR / 2, duration_ms=60_000, inserts=9000)]
    whole = Log()
    whole.append(*past, answered("odd", "false_positive"))

    row = seeded([*past, answered("odd", "false_positive")])

    assert row.baselines == whole.row.baselines
    assert (row.partition, row.offset) == (3, OFFSET - 1)
    assert row.flagged == whole.row.flagged


def test_what_the_log_still_has_is_folded_and_what_it_had_is_not() -> None:
    log = going_on(seeded(hourly(40)))
    before = log.row.baselines

    log.take([log.record(event) for event in hourly(40)[-3:]])  # sent once more, and read behind the cut
    assert log.row.baselines == before
    log.append(ended("new", NOON, duration_ms=60_000, inserts=100))
    assert log.row.baselines != before


def test_an_open_incident_goes_on_under_its_number_and_ends_with_the_next_good_run() -> None:
    failed = ended("bad", NOON - HOUR, status="failed", error={"message": "boom"})

    log = going_on(seeded([failed], Standing((open_incident(acknowledged_at=NOON, acknowledged_by="ada"),))))
    log.append(ended("worse", NOON, status="failed", error={"message": "bang"}))
    log.append(ended("good", NOON + HOUR))

    assert [(it.transition, it.transition_no, it.incident_id) for it in log.incidents] == [
        ("updated", 5, identity("incident")),
        ("resolved", 6, identity("incident")),
    ]
    assert log.incidents[0].acknowledged_by == "ada"


def test_an_anomaly_ends_after_as_many_clean_runs_as_without_the_loss() -> None:
    past = [*hourly(40), ended("odd", NOON - HOUR, duration_ms=60_000, inserts=9000)]
    clean = [ended(f"clean-{n}", NOON + n * HOUR, duration_ms=60_000, inserts=101) for n in range(3)]

    log = going_on(seeded([*past, *clean[:2]], Standing((open_incident("anomaly", severity="warn"),))))
    log.append(clean[2])

    assert [it.transition for it in log.incidents] == ["resolved"]


@pytest.mark.parametrize("kind", ["timeliness", "lost"])
def test_a_run_that_people_know_of_is_not_told_again(kind: str) -> None:
    slow = identity("slow")
    declared = Declared(timeliness_limit=60 * SECOND if kind == "timeliness" else None)
    past = [started("slow", NOON - 2 * HOUR, heartbeat_seconds=60)]
    told = (open_incident(kind, subject=str(slow)),)
    standing = Standing(told, lost=frozenset({slow})) if kind == "lost" else Standing(told, overdue=frozenset({slow}))

    log = going_on(seeded(past, standing, declared), declared)
    log.pulse(NOON)
    log.pulse(NOON + timedelta(seconds=5))
    assert log.incidents == []
    log.append(ended("slow", NOON + HOUR))
    assert {it.transition for it in log.incidents} == {"resolved"}


def test_a_run_that_was_forgotten_does_not_come_back() -> None:
    row = seeded([started("ancient", NOON - timedelta(days=31)), started("old", NOON - timedelta(days=29))])

    assert [UUID(bytes=run.run_id) for run in row.open] == [identity("old")]


def test_a_mute_that_was_given_by_command_still_holds() -> None:
    muted = commanded(PipelineMuted, NOON - HOUR, check="failure", until=NOON + HOUR)

    log = going_on(seeded([*hourly(3), muted]))
    log.append(ended("bad", NOON, status="failed"))
    assert log.incidents == []
    log.append(ended("worse", NOON + 2 * HOUR, status="failed"))
    assert [it.transition for it in log.incidents] == ["opened"]


@pytest.mark.parametrize(("closed", "told"), [(NOON - HOUR / 2, []), (None, ["opened"]), (NOON - 9 * HOUR, ["opened"])])
def test_stale_data_that_somebody_has_closed_stays_quiet_until_it_changes(
    closed: datetime | None, told: list[str]
) -> None:
    standing = Standing(closed_by_hand_at=None if closed is None else to_micros(closed))

    log = going_on(seeded(hourly(5), standing, FRESH), FRESH)
    log.pulse(NOON + HOUR)

    assert log.transitions("freshness") == told


@pytest.mark.parametrize("wait", [60.0, 7200.0])
def test_a_failure_that_waited_for_another_attempt_is_told_only_if_the_wait_goes_on(wait: float) -> None:
    declared = Declared(retries=Retries(limit=1, wait_seconds=wait))

    log = going_on(seeded([ended("bad", NOON - HOUR, status="failed", attempt=1)], declared=declared), declared)
    log.pulse(NOON + 9 * HOUR)

    assert log.transitions("failure") == (["opened"] if wait > 3600 else [])


@pytest.mark.parametrize(("severity", "reason"), [("fail", "arrived_late"), ("warn", "recovered")])
def test_a_missed_deadline_waits_on_for_its_run(severity: str, reason: str) -> None:
    due = NOON.replace(hour=9)
    told = open_incident("timeliness", subject="deadline", severity=severity, cause_at=due, opened_at=due)

    log = going_on(seeded(hourly(3)[:0], Standing((told,)), DONE_BY), DONE_BY)
    log.pulse(NOON)
    log.pulse(NOON + timedelta(seconds=5))
    assert log.incidents == []
    log.append(ended("late", NOON + HOUR))
    assert [(it.transition, it.resolve_reason) for it in log.incidents] == [("resolved", reason)]
