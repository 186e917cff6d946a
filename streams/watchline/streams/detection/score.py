"""How unusual a run is: its residual as a normal z, whatever the number of runs behind the baseline."""

from __future__ import annotations

from math import log, sqrt

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
    deviation: float  # of the runs
    error: float  # of one run around what is expected: wider while runs are few
    freedom: float


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
    spread = baseline.spread + (baseline.spread_above if residual > 0.0 else baseline.spread_below)
    variance = 0.25 * _VARIANCE * spread * spread + floor_variance(baseline.level, scale)
    variance += _NEW_SLOT * where.uncertainty
    if kind == "count" and scale == "log":
        variance += 1.0 / (expected + 1.0) if centre > 0.0 else 1.0
    deviation = sqrt(variance)
    error = deviation * sqrt(1.0 + 1.0 / runs)
    freedom = _MOST_FREEDOM if runs >= 50 else runs - 1.0 if runs > 3 else 2.0
    t = residual / error
    z = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0) * sqrt(freedom * log(1.0 + t * t / freedom))
    return Score(z if t >= 0.0 else -z, expected, centre, residual, deviation, error, freedom)
