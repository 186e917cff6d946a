"""Scenario 23: a million rows from Monday to Friday, five thousand on Saturday and Sunday; then a Monday with 5,000."""

from __future__ import annotations

import random

import pytest

from folds.log import Log, ended
from folds.schedules import DAY, utc
from watchline.streams.detection.verdict import Reason

MONDAY = utc("2026-10-05 06:00")
WEEK = (1_000_000,) * 5 + (5_000,) * 2
QUIET = 5_000


def judged(weeks: int, *after: int, noise: float = 0.05) -> list[list[Reason]]:
    """Why each run after the history was flagged: whole weeks, and the five working days before the next Saturday."""
    log, chance, found = Log(), random.Random(1), []
    history = WEEK * weeks + WEEK[:5]
    for day, level in enumerate((*history, *after)):
        log.anomalies.clear()
        log.append(ended(day, MONDAY + day * DAY, inserts=round(level * (1 + noise * chance.gauss(0, 1)))))
        found.append([anomaly.reason for anomaly in log.anomalies])
    assert not any(found[: len(history)])  # no weekend was told while it was learnt
    return found[len(history) :]


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_with_four_weeks_known_the_weekend_is_quiet_and_such_a_monday_is_flagged(noise: float) -> None:
    assert judged(4, QUIET, QUIET, QUIET, noise=noise) == [[], [], ["point"]]


def test_of_a_job_that_varies_by_a_tenth_six_weeks_must_be_known() -> None:
    assert judged(4, QUIET, QUIET, QUIET, noise=0.1) == [[], [], []]
    assert judged(6, QUIET, QUIET, QUIET, noise=0.1) == [[], [], ["point"]]


def test_with_one_week_known_neither_is_told() -> None:
    assert judged(1, QUIET, QUIET, QUIET) == [[], [], []]


@pytest.mark.parametrize("weeks", [1, 4])
def test_no_rows_are_told_at_once(weeks: int) -> None:
    assert judged(weeks, 0) == [["zero"]]
