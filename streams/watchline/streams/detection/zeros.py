"""When a zero is nothing new: a two-state Markov chain of zero and non-zero runs."""

from __future__ import annotations

from watchline.streams.detection.baseline import Baseline

_RARE_STREAK = 1e-4
_HALVE_AT = 400.0  # counts are halved here, so that the chain follows a change of habit


def streak_with_zero(baseline: Baseline) -> float:
    """The probability of the running streak of zeros if this run is a zero too (add-half estimates)."""
    if baseline.last_was_zero:
        again, ended = baseline.after_zero_zero, baseline.after_zero_value
        return baseline.streak * again / (again + ended)
    zero, value = baseline.after_value_zero, baseline.after_value_value
    return zero / (zero + value)


def is_common(baseline: Baseline, streak: float) -> bool:
    """Whether a zero that brings the streak to this probability is usual here: neither flagged nor learnt."""
    return (
        baseline.zeros >= 2
        and baseline.zeros >= 0.01 * baseline.runs
        and streak > _RARE_STREAK
        and baseline.after_value_value > 1.0
    )


def count(baseline: Baseline, zero: bool) -> None:
    """Count one run as zero or not."""
    if baseline.last_was_zero:
        if zero:
            baseline.after_zero_zero += 1.0
        else:
            baseline.after_zero_value += 1.0
        if baseline.after_zero_zero + baseline.after_zero_value > _HALVE_AT:
            baseline.after_zero_zero *= 0.5
            baseline.after_zero_value *= 0.5
    else:
        if zero:
            baseline.after_value_zero += 1.0
        else:
            baseline.after_value_value += 1.0
        if baseline.after_value_zero + baseline.after_value_value > _HALVE_AT:
            baseline.after_value_zero *= 0.5
            baseline.after_value_value *= 0.5
    if zero:
        baseline.zeros += 1
    baseline.last_was_zero = zero
