"""Calendar offsets: how much a weekday and an hour of the day move the level, and whether they deserve to."""

from __future__ import annotations

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

# weekday, nearest hour slot, second nearest, eighths of weight on the second, weekday offset, hour offset, uncertainty
Place = tuple[int, int, int, int, float, float, float]


def place(baseline: Baseline, at: float, variance: float) -> Place:
    """Where *at* (epoch seconds, local) falls in the calendar and the offsets learnt there.

    An offset b seen c times is shrunk by max(0, 1 - 2 V / (min(c, 24) b^2)), positive-part James-Stein. The hour is
    interpolated between the two nearest slots. The uncertainty is the variance to add while slots in use are new.
    """
    day, second = divmod(int(at), DAY)
    weekday = (day + 3) % 7
    noise = _SHRINKAGE * variance
    uncertainty = 0.0

    offset = baseline.weekday[weekday]
    seen: float = baseline.weekday_seen[weekday]
    shrunk = 0.0
    if offset and seen:
        kept = 1.0 - noise / (seen * offset * offset)
        if kept > 0.0:
            shrunk = kept * offset
    if seen < 3 and baseline.seasons:
        uncertainty = baseline.weekday_power / (1.0 + seen)

    # Eighths of an hour from the middle of the slot: coarse enough to be stored in a byte, fine enough to interpolate.
    hour, beyond = divmod(second, HOUR)
    eighths = (beyond * EIGHTHS + HOUR // 2) // HOUR - EIGHTHS // 2
    neighbour = (hour + 1 if eighths >= 0 else hour - 1) % 24
    if eighths < 0:
        eighths = -eighths
    if weekday >= 5:
        hour += 24
        neighbour += 24

    by_hour = 0.0
    offset = baseline.hour[hour]
    seen = baseline.hour_seen[hour] * _EIGHTH
    if offset and seen:
        kept = 1.0 - noise / (seen * offset * offset)
        if kept > 0.0:
            by_hour = (EIGHTHS - eighths) * _EIGHTH * kept * offset
    if seen < 3.0 and baseline.seasons:
        uncertainty += baseline.hour_power / (1.0 + seen)
    offset = baseline.hour[neighbour]
    if offset and eighths and baseline.hour_seen[neighbour]:
        kept = 1.0 - noise / (baseline.hour_seen[neighbour] * _EIGHTH * offset * offset)
        if kept > 0.0:
            by_hour += eighths * _EIGHTH * kept * offset
    return weekday, hour, neighbour, eighths, shrunk, by_hour, uncertainty


def learn(baseline: Baseline, where: Place, r: float, clipped: float, used: tuple[float, float]) -> None:
    """Move the offsets of this place by the residual; the first visit of a slot is not clipped."""
    weekday, hour, neighbour, eighths, _, _, _ = where
    by_weekday, by_hour = used

    visits = baseline.weekday_seen[weekday]
    offset = baseline.weekday[weekday]
    error = (clipped if visits else r) + by_weekday - offset
    offset += max(_RATE, 1.0 / (visits + 1)) * error
    baseline.weekday[weekday] = offset
    if visits < SEEN_ENOUGH:
        baseline.weekday_seen[weekday] = visits + 1
    baseline.weekday_power += 0.05 * (offset * offset - baseline.weekday_power)

    _learn_hour(baseline, hour, EIGHTHS - eighths, r, clipped, by_hour)
    if eighths:
        _learn_hour(baseline, neighbour, eighths, r, clipped, by_hour)


def _learn_hour(baseline: Baseline, hour: int, eighths: int, r: float, clipped: float, used: float) -> None:
    visits = baseline.hour_seen[hour]
    weight = eighths * _EIGHTH
    offset = baseline.hour[hour]
    error = (clipped if visits >= EIGHTHS else r) + used - offset
    offset += max(_RATE, 1.0 / (visits * _EIGHTH + 1.0)) * weight * error
    baseline.hour[hour] = offset
    baseline.hour_seen[hour] = min(_SEEN_ENOUGH_EIGHTHS, visits + eighths)
    baseline.hour_power += 0.03 * weight * (offset * offset - baseline.hour_power)


def weigh(baseline: Baseline, where: Place, plain: float, cap: float, rate: float) -> None:
    """Keep the mean error of each offset set, capped, and use the set that earns it; *plain* = y - level."""
    by_weekday, by_hour = where[4], where[5]
    baseline.error_plain += rate * (min(abs(plain), cap) - baseline.error_plain)
    baseline.error_weekday += rate * (min(abs(plain - by_weekday), cap) - baseline.error_weekday)
    baseline.error_hour += rate * (min(abs(plain - by_hour), cap) - baseline.error_hour)
    baseline.error_both += rate * (min(abs(plain - by_weekday - by_hour), cap) - baseline.error_both)
    seasons = 0
    best = baseline.error_plain * _GATE
    if baseline.error_weekday < best:
        seasons, best = WEEKDAY, baseline.error_weekday * _GATE_STEP
    if baseline.error_hour < best:
        seasons, best = HOURLY, baseline.error_hour * _GATE_STEP
    if baseline.error_both < best:
        seasons = WEEKDAY | HOURLY
    baseline.seasons = seasons
