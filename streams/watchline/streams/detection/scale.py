"""From a metric's own unit to the scale on which it is judged, and back.

On the log scale x becomes sign(x) * (ln(|x| + c) - ln c): odd, continuous, and finite for every finite number.
Far from zero it is a plain logarithm, so a difference is a relative change. c is 1 for rows and seconds, 0.001
otherwise.
On the linear scale x stays x, bounded so that its square and its 32-bit copy stay finite.
"""

from __future__ import annotations

from math import exp, expm1, log

from watchline.streams.detection.rules import MetricKind, Scale

OFFSETS: dict[MetricKind, float] = {"count": 1.0, "duration": 1.0, "rate": 1e-3, "custom": 1e-3}
LOG_OFFSETS: dict[MetricKind, float] = {kind: log(c) for kind, c in OFFSETS.items()}
FLOOR = 0.08  # the least spread assumed: 8 % of the level
_HIGHEST_EXPONENT = 709.0  # e**709 is the last power that a float holds
_FURTHEST = 1e30
_LEAST_LINEAR_VARIANCE = 1e-18


def to_scale(value: float, kind: MetricKind, scale: Scale) -> float:
    """*value* on the scale on which it is judged."""
    if scale == "log":
        if value >= 0.0:
            return log(value + OFFSETS[kind]) - LOG_OFFSETS[kind]
        return LOG_OFFSETS[kind] - log(OFFSETS[kind] - value)
    return max(-_FURTHEST, min(_FURTHEST, value))


def from_scale(y: float, kind: MetricKind, scale: Scale) -> float:
    """What *y* is in the metric's own unit; never negative for rows, seconds and rates on the log scale."""
    if scale == "linear":
        return y
    exponent = abs(y) + LOG_OFFSETS[kind]
    magnitude = exp(exponent if exponent < _HIGHEST_EXPONENT else _HIGHEST_EXPONENT) - OFFSETS[kind]
    if y >= 0.0:
        return magnitude
    return -magnitude if kind == "custom" else 0.0


def floor_variance(level: float, scale: Scale) -> float:
    """The least variance assumed around *level*, so that nothing is ever divided by zero."""
    if scale == "log":
        return FLOOR * FLOOR
    return max(FLOOR * FLOOR * level * level, _LEAST_LINEAR_VARIANCE)


def relative_change(move: float, centre: float, scale: Scale) -> float:
    """How much a *move* on the scale changes what is expected at *centre*, as a fraction of it."""
    if scale == "log":
        return abs(expm1(min(move, _HIGHEST_EXPONENT)))
    return abs(move) / max(1e-9, abs(centre))
