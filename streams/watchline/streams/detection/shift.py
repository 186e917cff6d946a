"""Levels that move for good: a two-sided CUSUM on z, and the memory of the level that was left."""

from __future__ import annotations

from math import sqrt

from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.score import Score

_SETTLED = 5  # runs on a new level before it is adopted
_NEAR = 2.5  # deviations from the former level that still belong to it
_SLACK = 1.0
_LIMIT = 6.0
_MOST_INFLATED = 3.0
_TOLERATED_CORRELATION = 0.3
_MEMORY = 60  # runs for which the former level is remembered


def accumulate(baseline: Baseline, z: float, r: float) -> bool:
    """Add one run to both sums, and say whether one exceeds its limit: wider if z is autocorrelated."""
    bounded = 4.0 if z > 4.0 else -4.0 if z < -4.0 else z
    rise = baseline.rise + bounded - _SLACK
    if rise > 0.0:
        baseline.rise = rise
        baseline.rise_runs += 1
        baseline.rise_sum += r
    elif baseline.rise:
        baseline.rise, baseline.rise_runs, baseline.rise_sum = 0.0, 0, 0.0
    fall = baseline.fall - bounded - _SLACK
    if fall > 0.0:
        baseline.fall = fall
        baseline.fall_runs += 1
        baseline.fall_sum += r
    elif baseline.fall:
        baseline.fall, baseline.fall_runs, baseline.fall_sum = 0.0, 0, 0.0

    bounded = 2.5 if z > 2.5 else -2.5 if z < -2.5 else z
    baseline.z_product += 0.02 * (bounded * baseline.z_last - baseline.z_product)
    baseline.z_square += 0.02 * (bounded * bounded - baseline.z_square)
    baseline.z_last = bounded
    if rise <= _LIMIT and fall <= _LIMIT:
        return False
    limit = _LIMIT * _inflation(baseline)
    return rise > limit or fall > limit


def _inflation(baseline: Baseline) -> float:
    if baseline.z_square <= 1e-6:
        return 1.0
    excess = baseline.z_product / baseline.z_square - _TOLERATED_CORRELATION
    if excess <= 0.0:
        return 1.0
    return min(_MOST_INFLATED, sqrt((1.0 + excess) / (1.0 - min(excess, 0.8))))


def reset(baseline: Baseline) -> None:
    """Forget what the sums have gathered."""
    baseline.rise, baseline.rise_runs, baseline.rise_sum = 0.0, 0, 0.0
    baseline.fall, baseline.fall_runs, baseline.fall_sum = 0.0, 0, 0.0


def move(baseline: Baseline) -> tuple[float, bool]:
    """The mean residual since the larger sum left zero, and whether it has lasted enough to be adopted."""
    if baseline.rise >= baseline.fall:
        return baseline.rise_sum / baseline.rise_runs, baseline.rise_runs >= _SETTLED
    return baseline.fall_sum / baseline.fall_runs, baseline.fall_runs >= _SETTLED


def rebase(baseline: Baseline, move: float) -> None:
    """Adopt the new level in place of learning the run, and remember the level that is left."""
    baseline.has_former, baseline.former_level, baseline.former_age = True, baseline.level, 0
    baseline.level += move
    baseline.runs += 1
    reset(baseline)


def is_back(baseline: Baseline, scored: Score) -> bool:
    """Whether the run lies where the former level would have it."""
    departure = scored.residual + baseline.level - baseline.former_level
    return abs(departure) < _NEAR * scored.deviation


def recover(baseline: Baseline) -> None:
    """Go back to the level that was left."""
    baseline.level = baseline.former_level
    forget(baseline)
    reset(baseline)


def forget(baseline: Baseline) -> None:
    """Drop the memory of the former level."""
    baseline.has_former, baseline.former_level, baseline.former_age = False, 0.0, 0


def grow_older(baseline: Baseline) -> None:
    """Let the memory of the former level fade by one run."""
    baseline.former_age += 1
    if baseline.former_age > _MEMORY:
        forget(baseline)
