"""Scenario 21: 1,000 rows a day for sixty days; then 1,001, then 700, then none."""

from __future__ import annotations

import math

import pytest

from folds.log import Log, ended
from folds.schedules import DAY, utc
from watchline.schemas.records import AnomalyRecord

BEGIN = utc("2026-10-01 06:00")


def judged(*counts: int, duration_ms: int | None = None) -> list[list[AnomalyRecord]]:
    """What was found in each of the runs that follow the sixty."""
    log, found = Log(), []
    for day, count in enumerate((*[1000] * 60, *counts)):
        log.anomalies.clear()
        log.append(ended(day, BEGIN + day * DAY, inserts=count, duration_ms=duration_ms))
        found.append(list(log.anomalies))
    assert not any(found[:60])
    return found[60:]


def test_one_row_more_is_quiet() -> None:
    assert judged(1001, duration_ms=60_000) == [[]]


def test_thirty_per_cent_less_is_told_by_the_throughput_of_a_run_with_a_duration() -> None:
    ((anomaly,),) = judged(700, duration_ms=60_000)

    assert (anomaly.metric, anomaly.reason) == ("throughput", "point")
    assert anomaly.score < -4.0


@pytest.mark.parametrize(("count", "flagged"), [(700, False), (690, False), (680, True), (600, True)])
def test_the_count_alone_is_told_from_32_per_cent_on(count: int, flagged: bool) -> None:
    """The floor of the spread of a count is wider than that of a rate: 684 to 1,462 rows are normal."""
    (found,) = judged(count)

    assert [anomaly.metric for anomaly in found] == (["inserts"] if flagged else [])


def test_no_rows_at_all_are_told_as_that() -> None:
    _, _, found = judged(1001, 700, 0)

    assert [(anomaly.metric, anomaly.reason) for anomaly in found] == [("inserts", "zero")]
    assert found[0].score < -10


def test_every_number_that_is_said_is_finite() -> None:
    said = [anomaly for found in judged(1001, 700, 0, 10**9, duration_ms=60_000) for anomaly in found]

    assert len(said) >= 5
    for anomaly in said:
        numbers = (anomaly.value, anomaly.expected, anomaly.lower, anomaly.upper, anomaly.score)
        assert all(number is not None and math.isfinite(number) for number in numbers)
