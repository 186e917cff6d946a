"""Levels: adopted when they stay, left alone when they don't."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import fields

import pytest

from watchline.streams.detection import Baseline, Rule, Verdict, judge
from watchline.streams.detection.shift import accumulate

Replay = Callable[..., list[Verdict]]
MONDAY = 1_704_067_200
ROWS = Rule(kind="count", min_absolute_change=5.0)


def noisy(count: int, level: float, seed: int) -> list[float]:
    rng = random.Random(f"{seed}/{level}")
    return [round(level * math.exp(rng.gauss(0.0, 0.12))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("factor", [0.5, 1.8])
def test_a_level_that_stays_is_adopted_once_and_then_normal(replay: Replay, factor: float, seed: int) -> None:
    verdicts = replay(noisy(100, 1000, seed) + noisy(100, 1000 * factor, seed))

    assert any(verdict.flagged for verdict in verdicts[100:106])
    assert sum(verdict.shifted for verdict in verdicts) == 1
    assert sum(verdict.flagged for verdict in verdicts[115:]) <= 1
    assert verdicts[-1].expected == pytest.approx(1000 * factor, rel=0.15)


@pytest.mark.parametrize("seed", range(8))
def test_recovery_from_an_outage_is_not_flagged(replay: Replay, seed: int) -> None:
    history, outage, after = noisy(100, 1000, seed), noisy(8, 300, seed), noisy(30, 1001, seed)

    verdicts = replay(history + outage + after)

    assert sum(verdict.flagged for verdict in verdicts[100:108]) >= 3
    assert not any(verdict.flagged for verdict in verdicts[108:])
    assert verdicts[-1].expected == pytest.approx(1000, rel=0.15)


def test_a_move_too_small_for_any_single_run_flags_as_sustained(replay: Replay) -> None:
    verdicts = replay(noisy(100, 1000, 1) + noisy(30, 1500, 1))

    assert "sustained" in {verdict.reason for verdict in verdicts[100:]}


def test_a_small_move_is_followed_in_silence() -> None:
    baseline = Baseline(runs=60, level=math.log(1001), spread=0.1, spread_above=0.1, spread_below=0.1)
    baseline.rise, baseline.rise_runs, baseline.rise_sum = 17.0, 9, 0.5  # a twelfth on average, over its limit

    verdict = judge(baseline, ROWS, MONDAY, 1300.0)

    assert (verdict.reason, verdict.shifted) == (None, False)
    assert math.exp(baseline.level) == pytest.approx(1080, rel=0.01)


def test_the_level_that_was_left_is_remembered_for_sixty_runs(replay: Replay) -> None:
    soon, late = (
        replay([1000.0] * 60 + [300.0] * length + [1000.0])[-1]  # adopted with the fifth run of the new level
        for length in (60, 70)
    )

    assert not soon.flagged
    assert late.flagged


def test_a_run_back_on_the_former_level_is_scored_against_it(replay: Replay) -> None:
    *_, verdict = replay([1000.0] * 60 + [300.0] * 10 + [1000.0])

    assert verdict.expected == pytest.approx(1000, rel=0.1)
    assert abs(verdict.score) < 1


def test_correlated_noise_needs_a_longer_departure() -> None:
    steady, wandering = Baseline(z_product=0.0), Baseline(z_product=0.8)

    alarms = [[accumulate(baseline, 2.5, 0.3) for _ in range(8)].index(True) for baseline in (steady, wandering)]

    assert alarms == [4, 7]


def test_a_sustained_move_flags_only_runs_on_its_side() -> None:
    baseline = Baseline(runs=60, level=math.log(1001), spread=0.1, spread_above=0.1, spread_below=0.1)
    baseline.rise, baseline.rise_runs, baseline.rise_sum = 17.0, 3, 1.5
    below = Baseline(**{part.name: getattr(baseline, part.name) for part in fields(baseline)})

    verdicts = [judge(baseline, ROWS, MONDAY, 1300.0), judge(below, ROWS, MONDAY, 780.0)]

    assert [verdict.reason for verdict in verdicts] == ["sustained", None]


def test_the_sums_stay_small_however_long_the_history(replay: Replay) -> None:
    baseline = Baseline()

    for seed in range(20):
        replay(noisy(100, 10.0 ** (seed % 4 + 1), seed), ROWS, baseline)

    assert max(baseline.rise, baseline.fall) < 24
