"""Repetitions of events whose run ended so long ago that the row has forgotten its id: recorded, and told to nobody."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from folds.log import NOON, Log, ended, heartbeat, identity, started
from folds.schedules import MINUTE
from watchline.schemas import RunEnded
from watchline.streams.declarations import Declared
from watchline.streams.detection import unpack
from watchline.streams.instants import SECOND
from watchline.streams.runs.desk import Desk
from watchline.streams.runs.fold import KEPT_ENDED, RunsEvent
from watchline.streams.runs.memory import KEPT_DIGESTS

LIMITED = Declared(timeliness_limit=600 * SECOND)
REMEMBERED = KEPT_ENDED + KEPT_DIGESTS
MANY = 2 * REMEMBERED  # by then the first runs are forgotten, however the memory is cut


def at(number: int) -> datetime:
    """A run starts every minute; the last one at noon."""
    return NOON - (MANY - number) * MINUTE


def busy(runs: int = MANY) -> Log:
    """A log of runs that took half a minute each, with a pulse behind each."""
    log = Log(LIMITED)
    for number in range(MANY - runs, MANY):
        log.append(started(number, at(number)))
        log.append(ended(number, at(number) + timedelta(seconds=30), duration_ms=30_000, inserts=1000))
        log.pulse(at(number) + timedelta(seconds=40))
    return log


@pytest.mark.parametrize("number", [0, 1, REMEMBERED // 2, MANY - REMEMBERED - 1, MANY - REMEMBERED, MANY - 1])
def test_a_repeated_start_opens_no_run_however_long_ago_that_ended(number: int) -> None:
    log = busy()
    log.desk = Desk(0)

    log.append(started(number, at(number)))
    for minutes in range(0, 2000, 10):
        log.pulse(NOON + minutes * MINUTE)

    assert log.row.open == []
    assert log.incidents == []


@pytest.mark.parametrize("fields", [{"duration_ms": 900_000}, {"inserts": 5}, {"status": "failed"}])
def test_nor_is_a_repeated_end_of_a_run_judged_again(fields: dict[str, Any]) -> None:
    log = busy()
    before = log.row.baselines

    log.append(ended(0, at(0) + timedelta(seconds=30), **fields))

    assert log.incidents == []
    assert log.anomalies == []
    assert log.row.baselines == before
    assert len(log.row.ended) == KEPT_ENDED
    assert log.runs[-1].run_id == identity(0)  # the sink has it all the same


def test_a_start_that_comes_in_time_is_watched() -> None:
    log = busy()

    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_so_is_one_that_comes_late_while_no_run_was_forgotten_that_ended_after_it() -> None:
    log = busy()

    log.append(started("a", NOON - KEPT_ENDED * MINUTE))
    log.pulse(NOON + 11 * MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_and_any_of_a_pipeline_with_few_runs() -> None:
    log = busy(KEPT_ENDED)

    log.append(started("a", at(0)))
    log.pulse(NOON + MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_a_run_whose_start_was_taken_for_a_repetition_is_open_from_its_next_sign_of_life() -> None:
    log = busy()
    log.append(started("a", at(0)))
    unwatched = list(log.row.open)

    log.append(heartbeat("a", NOON))

    assert unwatched == []
    assert [run.run_id for run in log.row.open] == [identity("a").bytes]


@pytest.mark.parametrize("together", [True, False])
def test_such_a_run_ends_as_it_says_whatever_the_batch(together: bool) -> None:
    log = busy()
    events: list[RunsEvent] = [started("a", at(0), labels={"x": "1"}), ended("a", NOON, inserts=7, duration_ms=60_000)]

    for batch in [events] if together else [[event] for event in events]:
        log.append(*batch)

    assert log.newest("a").status == "succeeded"
    assert log.newest("a").inserts == 7
    assert next(run.started_at for run in log.runs if run.run_id == identity("a")) == at(0)


def test_a_history_that_is_told_run_by_run_is_judged_to_its_last_run_though_they_overlap() -> None:
    log = Log(LIMITED)
    log.pulse(NOON)

    for number in range(2 * MANY):
        begun = at(number) - timedelta(days=30)
        end = ended(number, begun + timedelta(hours=5), started_at=begun, inserts=1000)
        log.append(started(number, begun), end)

    assert unpack(log.row.baselines["inserts"]).runs == 2 * MANY


def test_runs_of_a_clock_that_ran_ahead_make_no_later_one_unwatched() -> None:
    log = busy()
    for number in range(MANY):
        log.append(ended(f"ahead-{number}", NOON + timedelta(hours=20)), now=NOON)
    log.pulse(NOON + MINUTE)

    log.append(started("a", NOON + MINUTE), now=NOON + MINUTE)
    log.pulse(NOON + 12 * MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_old_ends_that_come_late_do_not_bring_the_forgotten_ones_back() -> None:
    log = busy()
    for number in range(KEPT_ENDED):
        log.append(RunEnded.model_validate(ended(f"late-{number}", NOON - 1000 * MINUTE).model_dump()))

    log.append(started(0, at(0)))

    assert log.row.open == []
