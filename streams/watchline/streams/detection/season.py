"""Calendar offsets: how much a weekday and an hour of the day move the level, and whether they deserve to."""

from __future__ import annotations

import msgspec

from watchline.streams.detection.baseline import SEEN_ENOUGH, Baseline

DAY = 86_400
HOUR = 3_600
WEEKDAY = 1
HOURLY = 2
NAMES: tuple[tuple[str, ...], ...] = ((), ("weekday",), ("hour",), ("weekday", "hour"))

_WEEKDAY_SHRINKAGE = 2.0
_WEEKDAY_RATE = 0.08
_HOUR_SHRINKAGE = 3.0  # hours are many and close to each other: believe each a little less, and follow it slower
_HOUR_RATE = 0.05
_GATE = 0.93  # an offset set must err this much less than no offsets at all
_GATE_STEP = 0.98  # and each further set this much less than the best so far


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a start falls in the calendar, and the offsets learnt there; 0 in `used` if their set is not."""

    weekday: int
    hour: int  # one of 48 slots
    by_weekday: float
    by_hour: float
    weekday_used: float
    hour_used: float
    uncertainty: float  # variance that slots not seen often leave open


def place(baseline: Baseline, at: float, variance: float) -> Place:
    """Find *at* (epoch seconds, local) in the calendar; *variance* is the noise that offsets must rise above.

    An offset b seen c times is shrunk by max(0, 1 - k V / (min(c, 24) b^2)), positive-part James-Stein. A slot
    belongs to the nearest full hour, whole: interpolating between two slots scores no better on either
    benchmark, and a job that loads ten times as much at 07:00 would be flagged every day for its neighbours.
    """
    day, second = divmod(int(at), DAY)
    weekday = (day + 3) % 7
    hour = (second + HOUR // 2) // HOUR % 24
    if weekday >= 5:
        hour += 24
    by_weekday = _shrink(baseline.weekday[weekday], baseline.weekday_seen[weekday], _WEEKDAY_SHRINKAGE * variance)
    by_hour = _shrink(baseline.hour[hour], baseline.hour_seen[hour], _HOUR_SHRINKAGE * variance)
    seasons = baseline.seasons
    return Place(
        weekday,
        hour,
        by_weekday,
        by_hour,
        by_weekday if seasons & WEEKDAY else 0.0,
        by_hour if seasons & HOURLY else 0.0,
        _uncertainty(baseline, weekday, hour) if seasons else 0.0,
    )


def _shrink(offset: float, seen: int, noise: float) -> float:
    if not offset or not seen:
        return 0.0
    kept = 1.0 - noise / (seen * offset * offset)
    return kept * offset if kept > 0.0 else 0.0


def _uncertainty(baseline: Baseline, weekday: int, hour: int) -> float:
    uncertainty = 0.0
    if baseline.weekday_seen[weekday] < 3:
        uncertainty = baseline.weekday_power / (1.0 + baseline.weekday_seen[weekday])
    if baseline.hour_seen[hour] < 3:
        uncertainty += baseline.hour_power / (1.0 + baseline.hour_seen[hour])
    return uncertainty


def learn(baseline: Baseline, where: Place, residual: float, clipped: float) -> None:
    """Move the offsets of this place by the residual; the first visit of a slot is not clipped."""
    weekday, hour = where.weekday, where.hour
    visits = baseline.weekday_seen[weekday]
    offset = baseline.weekday[weekday]
    error = (clipped if visits else residual) + where.weekday_used - offset
    offset += error * (_WEEKDAY_RATE if visits >= 12 else 1.0 / (visits + 1))
    baseline.weekday[weekday] = offset
    baseline.weekday_power += 0.05 * (offset * offset - baseline.weekday_power)
    if visits < SEEN_ENOUGH:
        baseline.weekday_seen[weekday] = visits + 1

    visits = baseline.hour_seen[hour]
    offset = baseline.hour[hour]
    error = (clipped if visits else residual) + where.hour_used - offset
    offset += error * (_HOUR_RATE if visits >= 19 else 1.0 / (visits + 1))
    baseline.hour[hour] = offset
    baseline.hour_power += 0.03 * (offset * offset - baseline.hour_power)
    if visits < SEEN_ENOUGH:
        baseline.hour_seen[hour] = visits + 1


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
