"""Calendar offsets: how much a weekday and an hour of the day move the level, and whether they deserve to."""

from __future__ import annotations

import msgspec

from watchline.streams.detection.baseline import EIGHTHS, SEEN_ENOUGH, Baseline

DAY = 86_400
HOUR = 3_600
WEEKDAY = 1
HOURLY = 2
NAMES: tuple[tuple[str, ...], ...] = ((), ("weekday",), ("hour",), ("weekday", "hour"))

_SHRINKAGE = 2.0
_RATE = 0.08
_GATE = 0.93  # an offset set must err this much less than no offsets at all
_GATE_STEP = 0.98  # and each further set this much less than the best so far
_EIGHTH = 1.0 / EIGHTHS
_SEEN_ENOUGH_EIGHTHS = SEEN_ENOUGH * EIGHTHS


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a start falls in the calendar, and the offsets learnt there; 0 in `used` if their set is not."""

    weekday: int
    hour: int  # the nearest of 48 slots
    neighbour: int  # the second nearest
    eighths: int  # weight of the second nearest, 0 to 4
    by_weekday: float
    by_hour: float
    weekday_used: float
    hour_used: float
    uncertainty: float  # variance that slots not seen often leave open


def place(baseline: Baseline, at: float, variance: float) -> Place:
    """Find *at* (epoch seconds, local) in the calendar; *variance* is the noise that offsets must rise above.

    An offset b seen c times is shrunk by max(0, 1 - 2 V / (min(c, 24) b^2)), positive-part James-Stein. The
    hour is interpolated between the two nearest slots, in eighths: fine enough, and a byte can hold their sum.
    """
    day, second = divmod(int(at), DAY)
    weekday = (day + 3) % 7
    hour, beyond = divmod(second, HOUR)
    eighths = (beyond * EIGHTHS + HOUR // 2) // HOUR - EIGHTHS // 2
    neighbour = (hour + 1 if eighths >= 0 else hour - 1) % 24
    if eighths < 0:
        eighths = -eighths
    if weekday >= 5:
        hour += 24
        neighbour += 24

    noise = _SHRINKAGE * variance
    by_weekday = _shrink(baseline.weekday[weekday], baseline.weekday_seen[weekday], noise)
    noise *= EIGHTHS
    by_hour = _shrink(baseline.hour[hour], baseline.hour_seen[hour], noise)
    if eighths:
        beside = _shrink(baseline.hour[neighbour], baseline.hour_seen[neighbour], noise)
        by_hour += eighths * _EIGHTH * (beside - by_hour)
    seasons = baseline.seasons
    return Place(
        weekday, hour, neighbour, eighths, by_weekday, by_hour,
        by_weekday if seasons & WEEKDAY else 0.0, by_hour if seasons & HOURLY else 0.0,
        _uncertainty(baseline, weekday, hour) if seasons else 0.0,
    )  # fmt: skip


def _shrink(offset: float, seen: int, noise: float) -> float:
    if not offset or not seen:
        return 0.0
    kept = 1.0 - noise / (seen * offset * offset)
    return kept * offset if kept > 0.0 else 0.0


def _uncertainty(baseline: Baseline, weekday: int, hour: int) -> float:
    uncertainty = 0.0
    if baseline.weekday_seen[weekday] < 3:
        uncertainty = baseline.weekday_power / (1.0 + baseline.weekday_seen[weekday])
    if baseline.hour_seen[hour] < 3 * EIGHTHS:
        uncertainty += baseline.hour_power / (1.0 + baseline.hour_seen[hour] * _EIGHTH)
    return uncertainty


def learn(baseline: Baseline, where: Place, residual: float, clipped: float) -> None:
    """Move the offsets of this place by the residual; the first visit of a slot is not clipped."""
    weekday = where.weekday
    visits = baseline.weekday_seen[weekday]
    offset = baseline.weekday[weekday]
    error = (clipped if visits else residual) + where.weekday_used - offset
    offset += (_RATE if visits >= 12 else 1.0 / (visits + 1)) * error
    baseline.weekday[weekday] = offset
    if visits < SEEN_ENOUGH:
        baseline.weekday_seen[weekday] = visits + 1
    baseline.weekday_power += 0.05 * (offset * offset - baseline.weekday_power)
    eighths = where.eighths
    residual += where.hour_used
    clipped += where.hour_used
    _learn_hour(baseline, where.hour, EIGHTHS - eighths, residual, clipped)
    if eighths:
        _learn_hour(baseline, where.neighbour, eighths, residual, clipped)


def _learn_hour(baseline: Baseline, hour: int, eighths: int, target: float, clipped: float) -> None:
    visits = baseline.hour_seen[hour]
    weight = eighths * _EIGHTH
    offset = baseline.hour[hour]
    error = (clipped if visits >= EIGHTHS else target) - offset
    offset += weight * error * (_RATE if visits >= 92 else EIGHTHS / (visits + EIGHTHS))
    baseline.hour[hour] = offset
    visits += eighths
    baseline.hour_seen[hour] = visits if visits < _SEEN_ENOUGH_EIGHTHS else _SEEN_ENOUGH_EIGHTHS
    baseline.hour_power += 0.03 * weight * (offset * offset - baseline.hour_power)


def weigh(baseline: Baseline, where: Place, residual: float, cap: float, rate: float) -> None:
    """Keep the mean error of each offset set, capped, and use the set that earns it."""
    by_weekday, by_hour = where.by_weekday, where.by_hour
    rest = residual + where.weekday_used + where.hour_used
    baseline.error_plain = plain = _blend(baseline.error_plain, rest, cap, rate)
    baseline.error_weekday = weekday = _blend(baseline.error_weekday, rest - by_weekday, cap, rate)
    baseline.error_hour = hourly = _blend(baseline.error_hour, rest - by_hour, cap, rate)
    baseline.error_both = both = _blend(baseline.error_both, rest - by_weekday - by_hour, cap, rate)
    seasons, best = 0, plain * _GATE
    if weekday < best:
        seasons, best = WEEKDAY, weekday * _GATE_STEP
    if hourly < best:
        seasons, best = HOURLY, hourly * _GATE_STEP
    if both < best:
        seasons = WEEKDAY | HOURLY
    baseline.seasons = seasons


def _blend(mean: float, error: float, cap: float, rate: float) -> float:
    size = error if error >= 0.0 else -error
    return mean + rate * ((size if size < cap else cap) - mean)
