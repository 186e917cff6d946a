"""What a run teaches: its residual, clipped, moves the level, the spread and the calendar offsets.

Builtin min and max cost 0.1 us a call, as much as six conditional expressions; nothing here calls them.
"""

from __future__ import annotations

from watchline.streams.detection import season, zeros
from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.feedback import write_token
from watchline.streams.detection.rules import Rule
from watchline.streams.detection.score import Score
from watchline.streams.detection.season import Place

_RATE = 0.03
_SPREAD_RATE = 0.04
_CLIP = 3.0  # deviations that a run may teach
_ERROR_CLIP = 6.0
_WARM_RUNS = 10
_WARM_CLIP = 0.7  # and at least this much, a factor of 2, while the spread is still a guess


def begin(baseline: Baseline, at: float, y: float, value: float) -> None:
    """Take the first run as the level."""
    baseline.level = y
    baseline.runs = 1
    baseline.last_at = at
    if not value:
        baseline.streak = zeros.streak_with_zero(baseline)
    zeros.count(baseline, not value)


def learn(baseline: Baseline, rule: Rule, where: Place, scored: Score, flagged: bool) -> bytes:
    """Learn one run; a flagged run leaves the token that feedback on it needs, any other nothing."""
    runs, residual = baseline.runs, scored.residual
    clip = _CLIP * scored.deviation
    if runs < _WARM_RUNS:
        least = _WARM_CLIP if rule.scale == "log" else abs(residual)  # no unit is known on a linear scale
        clip = clip if clip > least else least
    clipped = clip if residual > clip else -clip if residual < -clip else residual
    size = abs(clipped)
    rate = 1.0 / (runs + 1) if runs < 33 else _RATE
    spread_rate = 1.0 / runs if runs < 25 else _SPREAD_RATE
    side_rate = 2.0 * spread_rate if runs > 1 else 1.0
    baseline.level += rate * clipped
    baseline.spread += spread_rate * (size - baseline.spread)
    if clipped > 0.0:
        baseline.spread_above += side_rate * (size - baseline.spread_above)
    else:
        baseline.spread_below += side_rate * (size - baseline.spread_below)
    season.weigh(baseline, where, residual, _ERROR_CLIP * scored.deviation, spread_rate)
    season.learn(baseline, where, residual, clipped)
    baseline.runs = runs + 1
    if flagged:
        return write_token(residual, clipped, rate, spread_rate, (where.weekday, where.hour))
    return b""
