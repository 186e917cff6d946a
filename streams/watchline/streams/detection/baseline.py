"""What is normal for one metric of one pipeline: the state, and nothing but the state."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

WEEKDAYS = 7
HOURS = 48  # 24 of weekdays, then 24 of weekends
# Calendar offsets live in 32 bits, in memory as at rest: a verdict can't depend on when the state was stored.
SEEN_ENOUGH = 24  # visits beyond these change nothing and are not counted


def _weekdays() -> array[float]:
    return array("f", bytes(4 * WEEKDAYS))


def _hours() -> array[float]:
    return array("f", bytes(4 * HOURS))


@dataclass(slots=True)
class Baseline:
    """The state of one (pipeline, metric); moves and spreads are on the scale of its rule (usually ln)."""

    runs: int = 0
    last_at: float = 0.0  # newest learnt start, epoch seconds in the pipeline's zone

    level: float = 0.0
    spread: float = 0.0  # mean absolute residual, of all runs and of those above and below
    spread_above: float = 0.0
    spread_below: float = 0.0

    weekday: array[float] = field(default_factory=_weekdays)
    weekday_seen: bytearray = field(default_factory=lambda: bytearray(WEEKDAYS))
    weekday_power: float = 0.0  # mean square of the offsets
    hour: array[float] = field(default_factory=_hours)
    hour_seen: bytearray = field(default_factory=lambda: bytearray(HOURS))
    hour_power: float = 0.0
    error_plain: float = 0.0  # mean error without offsets, with weekdays, with hours, with both
    error_weekday: float = 0.0
    error_hour: float = 0.0
    error_both: float = 0.0
    seasons: int = 0  # offsets in use: 1 weekday, 2 hour, 3 both

    rise: float = 0.0  # CUSUM upwards: sum, runs and residuals since it left zero
    rise_runs: int = 0
    rise_sum: float = 0.0
    fall: float = 0.0
    fall_runs: int = 0
    fall_sum: float = 0.0
    z_product: float = 0.0  # lag-1 product, square and last value of z, for its autocorrelation
    z_square: float = 1.0
    z_last: float = 0.0
    has_former: bool = False  # the level that was left, remembered for a while
    former_level: float = 0.0
    former_age: int = 0

    zeros: int = 0
    after_value_zero: float = 0.5  # how often a zero or a value followed a value, and followed a zero
    after_value_value: float = 0.5
    after_zero_zero: float = 0.5
    after_zero_value: float = 0.5
    last_was_zero: bool = False
    streak: float = 1.0  # probability of the running streak of zeros
