"""Lengths of time as a job writes them: seconds, a timedelta, or text such as "30m", "24h" or "1d12h"."""

from __future__ import annotations

import re
from datetime import timedelta

from watchline.schemas.limits import MAX_SECONDS
from watchline.sdk.harmless import warn_once

Duration = float | int | str | timedelta
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
ONE_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")


def read_duration(name: str, value: object) -> float | None:
    """Seconds of a duration, more than 0 and at most ten years; else None with a warning."""
    seconds = _seconds(value)
    if seconds is not None and 0 < seconds <= MAX_SECONDS:
        return seconds
    if value is not None:
        warn_once(
            f"{name} duration", "%s=%.200r is no duration such as 3600, '30m' or '24h' and is left out", name, value
        )
    return None


def _seconds(value: object) -> float | None:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    parts = ONE_DURATION.findall(text)
    if parts and not ONE_DURATION.sub("", text).strip():
        return float(sum(float(number) * UNITS[unit] for number, unit in parts))
    try:
        return float(text)
    except ValueError:
        return None
