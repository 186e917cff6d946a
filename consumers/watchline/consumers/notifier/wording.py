"""Numbers, durations and times as a person reads them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3_600, 86_400
STEPS = ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "min"), (MINUTE, "min", 1, "s"))


def number(value: float) -> str:
    """1310 is `1,310`, 0.12345 is `0.123`; large and tiny values keep their size in view."""
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1e15 or 0 < abs(value) < 0.001:
        return f"{value:.3g}"
    if value == int(value):
        return f"{int(value):,}"
    places = 0 if abs(value) >= 1_000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float) -> str:
    """The two largest units: `450 ms`, `42 s`, `3 min 5 s`, `5 h 12 min`, `3 d 4 h`."""
    if not math.isfinite(seconds):
        return f"{seconds} s"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if 0 < seconds < 0.9995:
        return f"{number(round(seconds * 1_000, 1))} ms"
    if seconds < 9.95:
        return f"{number(round(seconds, 1))} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    unit, name, part, part_name = next(step for step in STEPS if whole >= step[0])
    count, rest = divmod(whole, unit)
    return f"{count:,} {name}" + (f" {rest // part} {part_name}" if rest >= part else "")


def utc(at: datetime) -> str:
    """A time with its zone: `2026-11-30 14:05:12 UTC`."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
