"""Scenario 22: twenty times the rows on day 30 and on day 37, and twice as many for good from day 45 on."""

from __future__ import annotations

import random

import pytest

from folds.log import Log, ended
from folds.schedules import DAY, utc

BEGIN = utc("2026-10-01 06:00")
SPIKES, GROWTH = (30, 37), 45


def sixty_days(noise: float) -> tuple[list[int], Log]:
    """The days that were flagged, and the log."""
    log, chance, flagged = Log(), random.Random(1), []
    for day in range(1, 61):
        level = 1000 * (20 if day in SPIKES else 1) * (2 if day >= GROWTH else 1)
        count = round(level * (1 + noise * chance.gauss(0, 1)))
        log.anomalies.clear()
        log.append(ended(day, BEGIN + day * DAY, inserts=count))
        flagged += [day] if log.anomalies else []
    return flagged, log


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_a_spike_is_not_learnt_so_the_second_is_flagged_like_the_first(noise: float) -> None:
    flagged, _ = sixty_days(noise)

    assert [day for day in flagged if day < GROWTH] == list(SPIKES)


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_growth_is_flagged_on_its_first_day_and_normal_after_five(noise: float) -> None:
    flagged, _ = sixty_days(noise)

    growth = [day for day in flagged if day >= GROWTH]
    assert growth[0] == GROWTH
    assert growth[-1] == GROWTH + 4


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.1])
def test_it_is_one_incident_that_ends_with_the_new_level_taken_as_normal(noise: float) -> None:
    _, log = sixty_days(noise)

    told = [it for it in log.incidents if it.transition != "updated"]  # the same thing seen again calls nobody
    assert [(it.transition, it.resolve_reason, (it.at - BEGIN).days) for it in told] == [
        ("opened", None, 30), ("resolved", "recovered", 33),
        ("opened", None, 37), ("resolved", "recovered", 40),
        ("opened", None, 45), ("resolved", "adopted", 52),
    ]  # fmt: skip
