"""How unusual a run is: its residual as a normal z, whatever the number of runs behind the baseline."""

from __future__ import annotations

from math import expm1, log, sqrt

import msgspec

from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.rules import Rule
from watchline.streams.detection.scale import floor_variance, from_scale
from watchline.streams.detection.season import Place, place

_VARIANCE = 1.57075  # pi / 2: from the square of the mean absolute residual of a normal to its variance
_NEW_SLOT = 0.5
_MOST_FREEDOM = 49.0


class Score(msgspec.Struct, frozen=True, gc=False):
    """One run against its baseline; all but `expected` on the scale of the rule."""

    z: float
    expected: float  # in the metric's own unit
    centre: float
    residual: float
    deviation: float  # of the runs on the side of this one
    freedom: float
    spread_above: float  # mean absolute residuals, for the range on either side
    spread_below: float
    rest: float  # variance that is there without any spread


def locate(baseline: Baseline, rule: Rule, at: float) -> Place:
    """The place of *at* in the calendar, with offsets shrunk by the noise of this baseline."""
    variance = _VARIANCE * baseline.spread * baseline.spread + floor_variance(baseline.level, rule.scale)
    return place(baseline, at, variance)


def score(baseline: Baseline, rule: Rule, y: float, where: Place) -> Score:
    """Score *y*, a value on the scale of the rule.

    The variance is pi / 2 times the square of (spread + spread on the residual's side) / 2, plus the floor,
    plus 1 / expected for counts (Poisson), plus half of what a new calendar slot leaves open. The residual over
    sqrt(variance (1 + 1/n)) is a t with f = min(n, 50) - 1 degrees of freedom, and
    z = (8f + 1)/(8f + 3) sqrt(f ln(1 + t^2/f)) by Wallace (1959).
    """
    kind, scale, runs = rule.kind, rule.scale, baseline.runs
    centre = baseline.level + where.weekday_used + where.hour_used
    expected = from_scale(centre, kind, scale)
    residual = y - centre
    above = 0.5 * (baseline.spread + baseline.spread_above)
    below = 0.5 * (baseline.spread + baseline.spread_below)
    spread = above if residual > 0.0 else below
    rest = floor_variance(baseline.level, scale) + _NEW_SLOT * where.uncertainty
    if kind == "count" and scale == "log":
        rest += 1.0 / (expected + 1.0) if centre > 0.0 else 1.0
    deviation = sqrt(_VARIANCE * spread * spread + rest)
    freedom = _MOST_FREEDOM if runs >= 50 else runs - 1.0 if runs > 3 else 2.0
    t = residual / (deviation * sqrt(1.0 + 1.0 / runs))
    z = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * sqrt(freedom * log(1.0 + t * t / freedom))
    return Score(z if t >= 0.0 else -z, expected, centre, residual, deviation, freedom, above, below, rest)


def reach(scored: Score, runs: int, z: float, *, above: bool) -> float:
    """How far above or below the centre a run must lie to score *z*: Wallace's approximation, inverted."""
    spread = scored.spread_above if above else scored.spread_below
    scaled = z * (8.0 * scored.freedom + 3.0) / (8.0 * scored.freedom + 1.0)
    t = sqrt(scored.freedom * expm1(scaled * scaled / scored.freedom))
    return t * sqrt((_VARIANCE * spread * spread + scored.rest) * (1.0 + 1.0 / runs))


def quantile(baseline: Baseline, rule: Rule, at: float, z: float) -> tuple[float, float]:
    """What is expected of a run at *at* and the value that scores *z* above it, both in the metric's own unit."""
    where = locate(baseline, rule, at)
    scored = score(baseline, rule, baseline.level + where.weekday_used + where.hour_used, where)
    high = scored.centre + reach(scored, baseline.runs, z, above=True)
    return scored.expected, from_scale(high, rule.kind, rule.scale)
