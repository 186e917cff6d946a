"""The state as bytes: exact, so that packing and unpacking at any step changes no later verdict.

Little-endian: a version byte, the scalars, 7 weekday offsets and visits, then for weekdays and for weekends the
span of hour slots in use. A daily pipeline needs about 260 bytes, an hourly one 490.
"""

from __future__ import annotations

import sys
from array import array
from struct import Struct, error

from watchline.schemas.errors import Misconfigured
from watchline.streams.detection.baseline import HOURS, Baseline

VERSION = 1
_HEAD = Struct("<BIIIIBB24d28s7sBBBB")
_DAY = HOURS // 2
_FOREIGN = sys.byteorder == "big"


def pack(baseline: Baseline) -> bytes:
    """The state in at most 500 bytes."""
    b = baseline
    offsets, visits = _to_bytes(b.hour), bytes(b.hour_seen)
    first, after = _span(visits[:_DAY])
    weekend_first, weekend_after = _span(visits[_DAY:])
    head = _HEAD.pack(
        VERSION, b.runs, b.zeros, b.rise_runs, b.fall_runs,
        b.seasons | b.last_was_zero << 2 | b.has_former << 3, b.former_age,
        b.last_at, b.level, b.spread, b.spread_above, b.spread_below, b.weekday_power, b.hour_power,
        b.error_plain, b.error_weekday, b.error_hour, b.error_both,
        b.rise, b.rise_sum, b.fall, b.fall_sum, b.z_product, b.z_square, b.z_last, b.former_level,
        b.after_value_zero, b.after_value_value, b.after_zero_zero, b.after_zero_value, b.streak,
        _to_bytes(b.weekday), b.weekday_seen, first, after, weekend_first, weekend_after,
    )  # fmt: skip
    weekdays, weekends = slice(first, after), slice(_DAY + weekend_first, _DAY + weekend_after)
    offsets = offsets[4 * first : 4 * after] + offsets[4 * weekends.start : 4 * weekends.stop]
    return head + offsets + visits[weekdays] + visits[weekends]


def unpack(raw: bytes) -> Baseline:
    """The state that was packed; raises Misconfigured if another version wrote it or bytes are missing."""
    if raw[:1] != bytes([VERSION]):
        raise Misconfigured(
            f"a baseline of version {raw[0] if raw else None} can't be read: version {VERSION} is expected",
            hint="run the release that wrote it, or drop the baseline: it warms up again within 10 runs",
        )
    try:
        (
            _, runs, zeros, rise_runs, fall_runs, flags, former_age,
            last_at, level, spread, spread_above, spread_below, weekday_power, hour_power,
            error_plain, error_weekday, error_hour, error_both,
            rise, rise_sum, fall, fall_sum, z_product, z_square, z_last, former_level,
            after_value_zero, after_value_value, after_zero_zero, after_zero_value, streak,
            weekday, weekday_seen, *spans,
        ) = _HEAD.unpack_from(raw)  # fmt: skip
        hour, hour_seen = _unpack_hours(raw, *spans)
    except error as broken:
        raise Misconfigured(f"a baseline of {len(raw)} bytes is incomplete: {broken}") from broken
    return Baseline(
        runs, last_at, level, spread, spread_above, spread_below,
        _from_bytes(weekday), bytearray(weekday_seen), weekday_power, hour, hour_seen, hour_power,
        error_plain, error_weekday, error_hour, error_both, flags & 3,
        rise, rise_runs, rise_sum, fall, fall_runs, fall_sum, z_product, z_square, z_last,
        bool(flags & 8), former_level, former_age,
        zeros, after_value_zero, after_value_value, after_zero_zero, after_zero_value, bool(flags & 4), streak,
    )  # fmt: skip


def _span(visits: bytes) -> tuple[int, int]:
    """The first slot in use and the one after the last."""
    after = len(visits.rstrip(b"\0"))
    return (len(visits) - len(visits.lstrip(b"\0")), after) if after else (0, 0)


def _unpack_hours(
    raw: bytes, first: int, after: int, weekend_first: int, weekend_after: int
) -> tuple[array[float], bytearray]:
    weekdays = after - first
    used = weekdays + weekend_after - weekend_first
    middle = _HEAD.size + 4 * used
    offsets, visits = raw[_HEAD.size : middle], raw[middle : middle + used]
    if len(visits) != used:
        raise error(f"{used} hour slots are announced")
    if used < HOURS:
        between, behind = _DAY - after + weekend_first, _DAY - weekend_after
        offsets = _padded(offsets, 4 * weekdays, 4 * first, 4 * between, 4 * behind)
        visits = _padded(visits, weekdays, first, between, behind)
    return _from_bytes(offsets), bytearray(visits)


def _padded(used: bytes, split: int, before: int, between: int, behind: int) -> bytes:
    return bytes(before) + used[:split] + bytes(between) + used[split:] + bytes(behind)


def _to_bytes(offsets: array[float]) -> bytes:
    if _FOREIGN:
        offsets = array("f", offsets)
        offsets.byteswap()
    return offsets.tobytes()


def _from_bytes(raw: bytes) -> array[float]:
    offsets = array("f", raw)
    if _FOREIGN:
        offsets.byteswap()
    return offsets
