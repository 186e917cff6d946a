"""Times: strict RFC 3339 with an offset, from 2000 to a day ahead, kept in UTC to the microsecond."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.identity import wrong_type
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import quote
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import CLOCK_SKEW, EARLIEST, MAX_AHEAD

# datetime.fromisoformat takes much more (no seconds, 24:00, a decimal comma, week dates), and more with every Python.
RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.([0-9]+))?"
    r"(Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
).fullmatch
NAIVE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?)?").fullmatch
EXACT_DIGITS = 6
LONGEST_SILENCE = timedelta(days=366)


def check_occurred_at(value: Any, name: str, reading: Reading) -> datetime:
    """When an event happened, in UTC; flagged when the sender's clock runs ahead."""
    if type(value) is not str:
        raise wrong_type(name, value, "an RFC 3339 time in text")
    moment = parse_moment(value, reading)
    if moment is None:
        reason = "naive_timestamp" if NAIVE(value) else "invalid_timestamp"
        raise BadEvent(reason, f"$.{name} must be RFC 3339 with an offset: {quote(value)}")
    if moment > reading.now:
        check_ahead(moment, name, reading)
    elif moment < EARLIEST:
        raise BadEvent("timestamp_out_of_range", f"$.{name} is before {EARLIEST:%Y-%m-%d}: {quote(value)}")
    return in_utc(moment)


def check_until(value: Any, name: str, reading: Reading) -> datetime:
    """When a mute or a snooze ends, in UTC; at most a year ahead, or it would be forgotten."""
    if type(value) is not str:
        raise wrong_type(name, value, "an RFC 3339 time in text")
    moment = parse_moment(value, reading)
    if moment is None:
        reason = "naive_timestamp" if NAIVE(value) else "invalid_timestamp"
        raise BadEvent(reason, f"$.{name} must be RFC 3339 with an offset: {quote(value)}")
    if moment < EARLIEST or (moment > reading.now and moment - reading.now > LONGEST_SILENCE):
        raise BadEvent("timestamp_out_of_range", f"$.{name} is before {EARLIEST:%Y-%m-%d} or over a year ahead")
    return in_utc(moment)


def check_ahead(moment: datetime, name: str, reading: Reading) -> None:
    """Refuse a time more than a day ahead, flag one that is more than five minutes ahead."""
    ahead = moment - reading.now
    if ahead > MAX_AHEAD:
        raise BadEvent("timestamp_out_of_range", f"$.{name} is more than {MAX_AHEAD} ahead of this clock")
    if ahead > CLOCK_SKEW:
        reading.note(flags.CLOCK_SKEW)


def optional_moment(value: Any, _name: str, reading: Reading) -> datetime | None:
    """A time that an event can do without: null when it can't be used."""
    moment = parse_moment(value, reading) if type(value) is str else None
    if moment is None or moment < EARLIEST or (moment > reading.now and moment - reading.now > MAX_AHEAD):
        reading.note(flags.TIME_DROPPED)
        return None
    return in_utc(moment)


def parse_moment(text: str, reading: Reading) -> datetime | None:
    """The instant that `text` names, or None if it isn't RFC 3339 with an offset."""
    match = RFC_3339(text) or RFC_3339(text.upper())
    if match is None:
        return None
    fraction = match[1]
    if fraction is not None and len(fraction) > EXACT_DIGITS:
        start, end = match.span(1)
        text = match.string[: start + EXACT_DIGITS] + match.string[end:]
        reading.note(flags.TIME_TRUNCATED)
    else:
        text = match.string
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # the 30th of February, the year 0
        return None


def in_utc(moment: datetime) -> datetime:
    """The same instant in UTC."""
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def is_ahead(text: str, reading: Reading) -> bool:
    """Whether `text` is a time more than five minutes ahead of the clock."""
    moment = parse_moment(text, Reading(reading.now))
    return moment is not None and moment > reading.now and moment - reading.now > CLOCK_SKEW
