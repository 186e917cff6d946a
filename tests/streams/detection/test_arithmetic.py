"""The formulas, worked by hand on the first steps of a history."""

from __future__ import annotations

import math

import pytest

from watchline.streams.detection import Baseline, Rule, judge
from watchline.streams.detection.scale import from_scale, to_scale

MONDAY = 1_704_067_200  # 2024-01-01 00:00 UTC
ROWS = Rule(kind="count")


def test_the_second_run_is_scored_by_floor_and_poisson_alone() -> None:
    baseline = Baseline()
    judge(baseline, ROWS, MONDAY, 100.0)

    verdict = judge(baseline, ROWS, MONDAY + 86_400, 120.0)

    r = math.log(121 / 101)
    t = r / math.sqrt((0.08**2 + 1 / 101) * 2)
    assert verdict.expected == pytest.approx(100.0)
    assert verdict.score == pytest.approx(17 / 19 * math.sqrt(2 * math.log(1 + t * t / 2)))


def test_the_second_run_moves_the_level_half_way_and_is_the_whole_spread() -> None:
    baseline = Baseline()
    judge(baseline, ROWS, MONDAY, 100.0)

    judge(baseline, ROWS, MONDAY + 86_400, 120.0)

    r = math.log(121 / 101)
    assert baseline.level == pytest.approx(math.log(101) + r / 2)
    assert (baseline.spread, baseline.spread_above, baseline.spread_below) == pytest.approx((r, r, 0.0))
    assert baseline.weekday[1] == pytest.approx(r)
    assert baseline.hour[0] == pytest.approx(r)
    assert (baseline.weekday_seen[1], baseline.hour_seen[0]) == (1, 1)


def test_the_third_run_is_scored_by_the_spread_on_its_side() -> None:
    baseline = Baseline()
    judge(baseline, ROWS, MONDAY, 100.0)
    judge(baseline, ROWS, MONDAY + 86_400, 120.0)

    verdict = judge(baseline, ROWS, MONDAY + 2 * 86_400, 90.0)

    spread, below = math.log(121 / 101), 0.0
    level = math.log(101) + spread / 2
    variance = (1.2533 * (0.5 * spread + 0.5 * below)) ** 2 + 0.08**2 + math.exp(-level)
    t = (math.log(91) - level) / math.sqrt(variance * 1.5)
    assert verdict.score == pytest.approx(-17 / 19 * math.sqrt(2 * math.log(1 + t * t / 2)), rel=1e-4)


@pytest.mark.parametrize(("minutes", "slot"), [(0, 0), (29, 0), (30, 1), (60, 1), (89, 1), (23 * 60 + 30, 0)])
def test_a_start_counts_for_the_nearest_full_hour(minutes: int, slot: int) -> None:
    baseline = Baseline()
    judge(baseline, ROWS, MONDAY, 100.0)

    judge(baseline, ROWS, MONDAY + 86_400 + minutes * 60, 100.0)

    assert [hour for hour, seen in enumerate(baseline.hour_seen) if seen] == [slot]


def test_a_weekend_has_hours_of_its_own() -> None:
    baseline = Baseline()
    judge(baseline, ROWS, MONDAY, 100.0)

    judge(baseline, ROWS, MONDAY + 5 * 86_400, 100.0)

    assert (baseline.hour_seen[0], baseline.hour_seen[24]) == (0, 1)
    assert baseline.weekday_seen[5] == 1


@pytest.mark.parametrize("kind", ["count", "duration", "rate", "custom"])
@pytest.mark.parametrize("value", [0.0, 0.5, 1.0, 1e6, 1e18])
def test_the_scale_is_undone(kind: str, value: float) -> None:
    y = to_scale(value, kind, "log")  # type: ignore[arg-type]  # drawn

    assert from_scale(y, kind, "log") == pytest.approx(value)  # type: ignore[arg-type]  # drawn


def test_the_log_scale_is_odd_and_a_factor_is_a_distance() -> None:
    assert to_scale(-7.0, "custom", "log") == -to_scale(7.0, "custom", "log")
    assert to_scale(0.0, "rate", "log") == 0.0
    doubled = to_scale(2e6, "count", "log") - to_scale(1e6, "count", "log")
    assert doubled == pytest.approx(math.log(2), abs=1e-5)
