"""The state as bytes: exact, so that packing and unpacking at any step changes no later verdict.

Little-endian: a version byte, the scalars, 7 weekday offsets and visits, then the hour slots: either all 48, or a mask
of 48 bits and the used ones. A daily pipeline needs about 290 bytes, an hourly one 490.
"""

from __future__ import annotations

from array import array
from struct import Struct, error

from watchline.schemas.errors import Misconfigured
from watchline.streams.detection.baseline import HOURS, Baseline

VERSION = 1
_HEAD = Struct("<BIIIIBBB24d7f7s6s")
_SLOTS = [Struct(f"<{n}f{n}s") for n in range(HOURS + 1)]


def pack(baseline: Baseline) -> bytes:
    """The state in at most 500 bytes."""
    b = baseline
    seen = b.hour_seen
    slots = [slot for slot in range(HOURS) if seen[slot]]
    head = _HEAD.pack(
        VERSION, b.runs, b.zeros, b.rise_runs, b.fall_runs,
        b.seasons | b.last_was_zero << 2 | b.has_former << 3, b.former_age, len(slots),
        b.last_at, b.level, b.spread, b.spread_above, b.spread_below, b.weekday_power, b.hour_power,
        b.error_plain, b.error_weekday, b.error_hour, b.error_both,
        b.rise, b.rise_sum, b.fall, b.fall_sum, b.z_product, b.z_square, b.z_last, b.former_level,
        b.after_value_zero, b.after_value_value, b.after_zero_zero, b.after_zero_value, b.streak,
        *b.weekday, b.weekday_seen, sum([1 << slot for slot in slots]).to_bytes(6, "little"),
    )  # fmt: skip
    if len(slots) == HOURS:
        return head + _SLOTS[HOURS].pack(*b.hour, seen)
    hour = b.hour
    return head + _SLOTS[len(slots)].pack(
        *[hour[slot] for slot in slots], bytes([seen[slot] for slot in slots])
    )


def unpack(raw: bytes) -> Baseline:
    """The state that was packed; raises Misconfigured if another version wrote it or bytes are missing."""
    if raw[:1] != bytes([VERSION]):
        raise Misconfigured(
            f"a baseline of version {raw[0] if raw else None} can't be read: this worker knows version {VERSION}",
            hint="run the release that wrote it, or drop the baseline: it warms up again within 10 runs",
        )
    try:
        (
            _, runs, zeros, rise_runs, fall_runs, flags, former_age, used,
            last_at, level, spread, spread_above, spread_below, weekday_power, hour_power,
            error_plain, error_weekday, error_hour, error_both,
            rise, rise_sum, fall, fall_sum, z_product, z_square, z_last, former_level,
            after_value_zero, after_value_value, after_zero_zero, after_zero_value, streak,
            *weekday, weekday_seen, mask,
        ) = _HEAD.unpack_from(raw)  # fmt: skip
        *offsets, visits = _SLOTS[used].unpack_from(raw, _HEAD.size)
    except (error, IndexError) as broken:
        raise Misconfigured(f"a baseline of {len(raw)} bytes is incomplete: {broken}") from broken
    hour, hour_seen = _spread_out(int.from_bytes(mask, "little"), offsets, visits)
    return Baseline(
        runs, last_at, level, spread, spread_above, spread_below,
        array("f", weekday), bytearray(weekday_seen), weekday_power, hour, hour_seen, hour_power,
        error_plain, error_weekday, error_hour, error_both, flags & 3,
        rise, rise_runs, rise_sum, fall, fall_runs, fall_sum, z_product, z_square, z_last,
        bool(flags & 8), former_level, former_age,
        zeros, after_value_zero, after_value_value, after_zero_zero, after_zero_value, bool(flags & 4), streak,
    )  # fmt: skip


def _spread_out(mask: int, offsets: list[float], visits: bytes) -> tuple[array[float], bytearray]:
    if len(offsets) == HOURS:
        return array("f", offsets), bytearray(visits)
    hour, seen = array("f", bytes(4 * HOURS)), bytearray(HOURS)
    packed = zip(offsets, visits, strict=True)
    for slot in range(HOURS):
        if mask >> slot & 1:
            hour[slot], seen[slot] = next(packed)
    return hour, seen
