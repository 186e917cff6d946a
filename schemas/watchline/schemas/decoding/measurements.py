"""Measurements: a bad one becomes null and is flagged, and never costs the event that carries it."""

from __future__ import annotations

from math import isfinite
from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import MAX_DURATION_MS, MAX_INTEGER, MAX_NAME, MAX_SECONDS


def count(value: Any, name: str, reading: Reading) -> int | None:
    """A number of rows, 0 to 2^63-1."""
    if type(value) is int and 0 <= value <= MAX_INTEGER:
        return value
    return repair_integer(value, name, reading)


def duration_ms(value: Any, name: str, reading: Reading) -> int | None:
    """Milliseconds, at most ten years; a fraction of a millisecond is rounded."""
    if type(value) is float and require_finite(value, name) and 0 <= value <= MAX_DURATION_MS:
        value = float(round(value))
    whole = count(value, name, reading)
    return None if whole is None else at_most(whole, MAX_DURATION_MS, reading)


def attempt(value: Any, name: str, reading: Reading) -> int:
    """Which try of a run this is, from 1."""
    return optional_attempt(value, name, reading) or 1


def optional_attempt(value: Any, name: str, reading: Reading) -> int | None:
    """Which try of a run this is, from 1; None when it can't be told."""
    whole = count(value, name, reading)
    if whole == 0:
        reading.note(flags.MEASUREMENT_DROPPED)
    return at_most(whole, 2**31 - 1, reading) if whole else None


def seconds(value: Any, name: str, reading: Reading) -> float | None:
    """A positive number of seconds, at most ten years."""
    if is_number(value, name) and 0 < value <= MAX_SECONDS:
        return float(value)
    reading.note(flags.MEASUREMENT_DROPPED)
    return None


def metrics(value: Any, name: str, reading: Reading) -> dict[str, float]:
    """Named numbers; one with a bad name or value is left out."""
    if type(value) is not dict:
        reading.note(flags.MEASUREMENT_DROPPED)
        return {}
    kept = {key: number for key, item in value.items() if (number := metric(key, item, name)) is not None}
    if len(kept) != len(value):
        reading.note(flags.MEASUREMENT_DROPPED)
    return kept


def metric(key: str, value: Any, name: str) -> float | None:
    """One metric's value as a float, or None if its name or value can't be used."""
    if not 0 < len(key) <= MAX_NAME or not key.isprintable():
        return None
    if not is_number(value, name):
        return None
    try:
        return float(value) + 0.0  # -0.0 becomes 0.0
    except OverflowError:
        return None


def is_number(value: Any, name: str) -> bool:
    """Whether `value` is a JSON number; one that a float can't hold is refused."""
    return type(value) is int or (type(value) is float and require_finite(value, name))


def require_finite(value: float, name: str) -> bool:
    """True, or a BadEvent for a literal such as 1e400."""
    if not isfinite(value):
        raise BadEvent("non_finite_number", f"$.{name} holds a number beyond 1.8e308")
    return True


def repair_integer(value: Any, name: str, reading: Reading) -> int | None:
    """The integer that an integral float stands for, else None."""
    if type(value) is float and require_finite(value, name) and 0 <= value <= MAX_INTEGER and value.is_integer():
        reading.note(flags.NUMBER_NORMALISED)
        return int(value)
    reading.note(flags.MEASUREMENT_DROPPED)
    return None


def at_most(value: int, limit: int, reading: Reading) -> int | None:
    """`value`, or None if it is beyond `limit`."""
    if value <= limit:
        return value
    reading.note(flags.MEASUREMENT_DROPPED)
    return None
