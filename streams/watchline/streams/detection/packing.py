"""The state as bytes: exact, so that packing and unpacking at any step changes no later verdict.

Little-endian: a version byte, the scalars, 7 weekday offsets and visits, then for weekdays and for weekends the
span of hour slots in use. A daily pipeline needs about 270 bytes, an hourly one 489.
"""

from __future__ import annotations

import sys
from array import array
from struct import Struct, error

from watchline.schemas.errors import Misconfigured
from watchline.streams.detection.baseline import HOURS, Baseline

VERSION = 1
_HEAD = Struct("<BIIIIBB24d28s7s")
_SPAN = Struct("<BB")
_DAY = HOURS // 2


def pack(baseline: Baseline) -> bytes:
    """The state in at most 500 bytes."""
    b = baseline
    head = _HEAD.pack(
        VERSION, b.runs, b.zeros, b.rise_runs, b.fall_runs,
        b.seasons | b.last_was_zero << 2 | b.has_former << 3, b.former_age,
        b.last_at, b.level, b.spread, b.spread_above, b.spread_below, b.weekday_power, b.hour_power,
        b.error_plain, b.error_weekday, b.error_hour, b.error_both,
        b.rise, b.rise_sum, b.fall, b.fall_sum, b.z_product, b.z_square, b.z_last, b.former_level,
        b.after_value_zero, b.after_value_value, b.after_zero_zero, b.after_zero_value, b.streak,
        _to_bytes(b.weekday), b.weekday_seen,
    )  # fmt: skip
    hour, seen = b.hour, b.hour_seen
    return head + _pack_day(hour[:_DAY], seen[:_DAY]) + _pack_day(hour[_DAY:], seen[_DAY:])


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
            weekday, weekday_seen,
        ) = _HEAD.unpack_from(raw)  # fmt: skip
        hour, seen, end = _unpack_day(raw, _HEAD.size)
        weekend, weekend_seen, _ = _unpack_day(raw, end)
    except error as broken:
        raise Misconfigured(f"a baseline of {len(raw)} bytes is incomplete: {broken}") from broken
    return Baseline(
        runs, last_at, level, spread, spread_above, spread_below,
        _from_bytes(weekday), bytearray(weekday_seen), weekday_power, hour + weekend, seen + weekend_seen, hour_power,
        error_plain, error_weekday, error_hour, error_both, flags & 3,
        rise, rise_runs, rise_sum, fall, fall_runs, fall_sum, z_product, z_square, z_last,
        bool(flags & 8), former_level, former_age,
        zeros, after_value_zero, after_value_value, after_zero_zero, after_zero_value, bool(flags & 4), streak,
    )  # fmt: skip


def _pack_day(hour: array[float], seen: bytearray) -> bytes:
    first = len(seen) - len(seen.lstrip(b"\0"))
    visits = seen.strip(b"\0")
    return _SPAN.pack(first, len(visits)) + _to_bytes(hour[first : first + len(visits)]) + visits


def _unpack_day(raw: bytes, start: int) -> tuple[array[float], bytearray, int]:
    first, size = _SPAN.unpack_from(raw, start)
    middle, end = start + _SPAN.size + 4 * size, start + _SPAN.size + 5 * size
    if end > len(raw) or first + size > _DAY:
        raise error(f"{size} hour slots from {first} on do not fit")
    rest = _DAY - first - size
    offsets = bytes(4 * first) + raw[start + _SPAN.size : middle] + bytes(4 * rest)
    return _from_bytes(offsets), bytearray(bytes(first) + raw[middle:end] + bytes(rest)), end


def _to_bytes(offsets: array[float]) -> bytes:
    if sys.byteorder == "big":
        offsets = array("f", offsets)
        offsets.byteswap()
    return offsets.tobytes()


def _from_bytes(raw: bytes) -> array[float]:
    offsets = array("f", raw)
    if sys.byteorder == "big":
        offsets.byteswap()
    return offsets
