"""The default detector: score a run against what is normal, then learn from it.

Formulas, in words: the value is taken to a scale on which noise is even (scale.py); its residual from level plus
calendar offsets is divided by a one-sided spread; the quotient, a t with as many degrees of freedom as runs support,
becomes a normal z (Wallace 1959), so that a limit means the same after 10 runs and after 1,000. A flagged run is learnt
like any other, but clipped: leaving it out would make the detector narrower with each flag.
"""

from __future__ import annotations

from math import copysign, exp, isfinite, log, sqrt

from watchline.streams.detection import season, shift, zeros
from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.feedback import token
from watchline.streams.detection.rules import Rule
from watchline.streams.detection.scale import floor_variance, from_scale, relative_change, to_scale
from watchline.streams.detection.verdict import Reason, Verdict, least_change

_MAD_TO_SD = 1.2533  # sqrt(pi / 2): mean absolute to standard deviation of a normal
_VARIANCE = 1.57075
_MOST_FREEDOM = 49.0
_RATE = 0.03
_SPREAD_RATE = 0.04
_CLIP = 3.0
_WARM_CLIP = 0.7
_WARM_RUNS = 10
_RECOVERY = 2.5
_ERROR_CLIP = 6.0


def judge(baseline: Baseline, rule: Rule, at: float, value: float, *, learn: bool = True) -> Verdict:
    """Judge one successful run that started *at*, then learn from it.

    *at* is in epoch seconds shifted by the UTC offset of the pipeline's zone. A run older than the newest learnt one
    is judged, not learnt, and so is any run with *learn* false. A value that isn't finite is neither.
    """
    static: Reason | None = "static" if _breaks_limits(rule, value) else None
    runs = baseline.runs
    if not isfinite(value):
        return Verdict(rule, value, flagged=False, warming_up=runs < rule.min_runs, baseline_runs=runs)
    kind, scale = rule.kind, rule.scale
    y = to_scale(value, kind, scale)
    learn = learn and (not runs or at >= baseline.last_at)
    if not runs:
        if learn:
            _begin(baseline, at, y, value == 0.0)
        return Verdict(rule, value, flagged=static is not None, reason=static, warming_up=True)

    common = False
    streak = baseline.streak
    if value == 0.0:
        streak = zeros.streak_with_zero(baseline)
        common = zeros.is_common(baseline, streak)

    level = baseline.level
    floor = floor_variance(level, scale)
    spread = baseline.spread
    where = season.place(baseline, at, _VARIANCE * spread * spread + floor)
    used = baseline.seasons
    by_weekday = where[4] if used & 1 else 0.0
    by_hour = where[5] if used & 2 else 0.0
    centre = level + by_weekday + by_hour
    r = y - centre
    one_sided = 0.5 * (spread + (baseline.spread_above if r > 0.0 else baseline.spread_below))
    variance = _VARIANCE * one_sided * one_sided + floor + 0.5 * where[6]
    if kind == "count" and scale == "log":
        variance += exp(-centre) if centre > 0.0 else 1.0  # Poisson
    deviation = sqrt(variance)
    error = deviation * sqrt(1.0 + 1.0 / runs)
    t = r / error
    freedom = max(2.0, min(_MOST_FREEDOM, runs - 1.0))
    z = copysign((8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * sqrt(freedom * log(1.0 + t * t / freedom)), t)

    expected = from_scale(centre, kind, scale)
    ready = runs >= rule.min_runs
    small = abs(value - expected) < least_change(rule, expected)
    counts = ready and not common
    reason: Reason | None = None
    if counts and not small and abs(z) > rule.z_limit:
        reason = "zero" if value == 0.0 else "point"

    shifted = False
    recall = b""
    side = r
    if learn:
        limit = shift.accumulate(baseline, z, r) if counts else 0.0
        alarm = counts and (baseline.rise > limit or baseline.fall > limit)
        far = False
        if alarm:
            mean, length = shift.move(baseline)
            far = relative_change(mean, centre, scale) >= rule.min_relative_change
            if far and not small and reason is None:
                reason, side = "sustained", mean
        if baseline.has_former:
            if reason and abs(y - baseline.former_level - by_weekday - by_hour) < _RECOVERY * deviation:
                shift.recover(baseline)
                level, reason, alarm = baseline.level, None, False
                centre = level + by_weekday + by_hour
                r = side = y - centre
                expected = from_scale(centre, kind, scale)
            else:
                shift.grow_older(baseline)
        if alarm and length >= shift.REBASE_AFTER:
            shift.rebase(baseline, mean)
            shifted = far
            baseline.runs = runs + 1
        elif not common:
            recall = _learn(baseline, rule, where, r, deviation, reason is not None)
        baseline.last_at = at
        zeros.count(baseline, value == 0.0)
        baseline.streak = streak
    if reason and ((rule.direction == "high" and side < 0.0) or (rule.direction == "low" and side > 0.0)):
        reason = None
    reason = static or reason
    return Verdict(
        rule, value, z, reason is not None, reason, shifted, not ready, runs, season.NAMES[used],
        expected, centre, error, freedom, recall if reason else b"",
    )  # fmt: skip


def _breaks_limits(rule: Rule, value: float) -> bool:
    return (rule.min_value is not None and value < rule.min_value) or (
        rule.max_value is not None and value > rule.max_value
    )


def _begin(baseline: Baseline, at: float, y: float, zero: bool) -> None:
    baseline.level = y
    baseline.runs = 1
    baseline.last_at = at
    if zero:
        baseline.streak = zeros.streak_with_zero(baseline)
    zeros.count(baseline, zero)


def _learn(baseline: Baseline, rule: Rule, where: season.Place, r: float, deviation: float, flagged: bool) -> bytes:
    """Learn one residual, clipped; the token of what was learnt if the run is flagged."""
    runs = baseline.runs
    used = baseline.seasons
    by_weekday = where[4] if used & 1 else 0.0
    by_hour = where[5] if used & 2 else 0.0
    clip = _CLIP * deviation
    if runs < _WARM_RUNS:
        clip = max(clip, _WARM_CLIP if rule.scale == "log" else abs(r))
    clipped = max(-clip, min(clip, r))
    size = abs(clipped)
    rate = max(_RATE, 1.0 / (runs + 1))
    spread_rate = max(_SPREAD_RATE, 1.0 / runs)
    baseline.level += rate * clipped
    baseline.spread += spread_rate * (size - baseline.spread)
    if clipped > 0.0:
        baseline.spread_above += min(1.0, 2.0 * spread_rate) * (size - baseline.spread_above)
    else:
        baseline.spread_below += min(1.0, 2.0 * spread_rate) * (size - baseline.spread_below)
    season.weigh(baseline, where, r + by_weekday + by_hour, _ERROR_CLIP * deviation, spread_rate)
    season.learn(baseline, where, r, clipped, (by_weekday, by_hour))
    baseline.runs = runs + 1
    return token(r, clipped, rate, spread_rate, where[0], where[1]) if flagged else b""
