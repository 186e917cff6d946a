"""Points in time as whole microseconds since 1970 UTC: exact, small in a row, quick to compare."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

SECOND = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def is_writable(micros: int) -> bool:
    """Whether `micros` is a moment that `to_datetime` can write, in any zone."""
    return to_micros(_FIRST) <= micros <= to_micros(_LAST)


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970 of an aware datetime."""
    return (moment - _EPOCH) // _MICROSECOND


def to_words(micros: int) -> str:
    """A moment as a person reads it: `2026-11-30 14:05:12 UTC`."""
    return f"{to_datetime(micros):%Y-%m-%d %H:%M:%S} UTC"


def to_datetime(micros: int) -> datetime:
    """The aware UTC datetime of `micros`; exact to the microsecond."""
    return _EPOCH + timedelta(microseconds=micros)
