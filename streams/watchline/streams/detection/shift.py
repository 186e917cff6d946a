"""Levels that move for good: a two-sided CUSUM on z, and the memory of the level that was left."""

from __future__ import annotations

from math import sqrt

from watchline.streams.detection.baseline import Baseline

REBASE_AFTER = 5  # runs on the new level before it is adopted
_SLACK = 1.0
_LIMIT = 6.0
_MOST_INFLATED = 3.0
_TOLERATED_CORRELATION = 0.3
_MEMORY = 60  # runs for which the former level is remembered


def accumulate(baseline: Baseline, z: float, r: float) -> float:
    """Add one run to both sums and return the limit that they must exceed, wider when z is autocorrelated."""
    bounded = max(-4.0, min(4.0, z))
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
    return _LIMIT * _inflation(baseline, max(-2.5, min(2.5, z)))


def _inflation(baseline: Baseline, z: float) -> float:
    baseline.z_product += 0.02 * (z * baseline.z_last - baseline.z_product)
    baseline.z_square += 0.02 * (z * z - baseline.z_square)
    baseline.z_last = z
    excess = baseline.z_product / baseline.z_square - _TOLERATED_CORRELATION if baseline.z_square > 1e-6 else 0.0
    if excess <= 0.0:
        return 1.0
    return min(_MOST_INFLATED, sqrt((1.0 + excess) / (1.0 - min(excess, 0.8))))


def reset(baseline: Baseline) -> None:
    """Forget what the sums have gathered."""
    baseline.rise, baseline.rise_runs, baseline.rise_sum = 0.0, 0, 0.0
    baseline.fall, baseline.fall_runs, baseline.fall_sum = 0.0, 0, 0.0


def move(baseline: Baseline) -> tuple[float, int]:
    """The mean residual since the larger sum left zero, and over how many runs."""
    if baseline.rise >= baseline.fall:
        return baseline.rise_sum / baseline.rise_runs, baseline.rise_runs
    return baseline.fall_sum / baseline.fall_runs, baseline.fall_runs


def rebase(baseline: Baseline, by: float) -> None:
    """Adopt the new level and remember the one that is left."""
    baseline.has_former, baseline.former_level, baseline.former_age = True, baseline.level, 0
    baseline.level += by
    reset(baseline)


def recover(baseline: Baseline) -> None:
    """Go back to the level that was left."""
    baseline.level = baseline.former_level
    forget(baseline)
    reset(baseline)


def forget(baseline: Baseline) -> None:
    baseline.has_former, baseline.former_level, baseline.former_age = False, 0.0, 0


def grow_older(baseline: Baseline) -> None:
    """Let the memory of the former level fade by one run."""
    baseline.former_age += 1
    if baseline.former_age > _MEMORY:
        forget(baseline)
