"""Cron lines as Debian's cron reads them, the zones they are in, and dates to leave out: read, or refused in words.

Nothing is imported but the standard library, so that a short job can check its schedule.
"""

from __future__ import annotations

import re
from datetime import date
from zoneinfo import ZoneInfo

MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
LONGEST_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
# name, least, most, names of the values and the number of the first of them
FIELDS = (
    ("minute", 0, 59, (), 0),
    ("hour", 0, 23, (), 0),
    ("day of month", 1, 31, (), 0),
    ("month", 1, 12, MONTHS, 1),
    ("day of week", 0, 7, DAYS, 0),
)
DAY_OF_MONTH, MONTH, DAY_OF_WEEK = 2, 3, 4
TERM = re.compile(r"(?P<all>\*)|(?P<first>\w+)(?:-(?P<last>\w+))?").fullmatch
NUMBER = re.compile(r"[0-9]{1,4}").fullmatch
CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])").fullmatch
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}").fullmatch


def read_cron(line: str) -> str:
    """The five fields of a cron line, in capitals; ValueError says which field is wrong and what it may be.

    `@daily` and its like stand for five fields. `@reboot` names no time, and there are no seconds.
    """
    text = MACROS.get(line.strip().lower(), line).upper()
    if text.strip().startswith("@"):
        raise ValueError(f"{line.strip()[:40]} names no time of the clock; there are {', '.join(MACROS)}")
    fields = text.split()
    if len(fields) != len(FIELDS):
        wanted = ", ".join(name for name, *_ in FIELDS)
        more = "; seconds can't be given" if len(fields) > len(FIELDS) else ""
        raise ValueError(f"a cron line has five fields ({wanted}), this one has {len(fields)}{more}")
    values = [_values(place, field) for place, field in enumerate(fields)]
    _check_that_the_day_comes(fields, values)
    return " ".join(fields)


def read_clock(text: str) -> tuple[str, str | None]:
    """The cron line and the zone (None: not named) of "07:30 Europe/Berlin", "07:30" or "30 7 * * 1-5 Europe/Berlin".

    ValueError says what is wrong with it.
    """
    words = text.split()
    count = 1 if words and (":" in words[0] or words[0].startswith("@")) else len(FIELDS)
    line, zone = " ".join(words[:count]), " ".join(words[count:]) or None
    if ":" in line:
        match = CLOCK(line)
        if match is None:
            raise ValueError(f"{line[:40]!r} is no time of the day such as 07:30")
        line = f"{int(match[2])} {int(match[1])} * * *"
    read_cron(line)
    if zone is not None:
        read_zone(zone)
    return line, zone


def read_zone(name: str) -> ZoneInfo:
    """The IANA zone of that name; ValueError when this machine knows none."""
    try:
        if name in ("localtime", "posixrules"):  # a file that names no place
            raise KeyError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # not found, not a name, not a file: all of them come of odd names
        raise ValueError(f"{name[:60]!r} is no IANA zone that is known here, such as Europe/Berlin") from None


def read_dates(text: str) -> tuple[date, date]:
    """The first and the last day of "2026-12-24" or "2026-12-24/2027-01-01"; ValueError when it is neither."""
    first, slash, last = text.partition("/")
    if not DATE(first) or (slash and not DATE(last)):
        raise ValueError(f"{text[:40]!r} is neither a date such as 2026-12-24 nor two of them with a slash")
    found = date.fromisoformat(first), date.fromisoformat(last if slash else first)
    if found[0] > found[1]:
        raise ValueError(f"{text[:40]!r} ends before it begins")
    return found


def _values(place: int, field: str) -> set[int]:
    """The numbers that a field names; what depends on the month (L, LW, FRI#2, 5L) is checked and left out."""
    found: set[int] = set()
    for term in field.split(","):
        found |= _term(place, term)
    return found


def _term(place: int, term: str) -> set[int]:
    body, slash, step = term.partition("/")
    if not slash and _depends_on_the_month(place, term):
        return set()
    match = TERM(body)
    if match is None or (slash and (not NUMBER(step) or int(step) == 0)):
        raise _wrong(place, term)
    _, least, most, _, _ = FIELDS[place]
    if match["all"]:
        first, last = least, most
    else:
        first = _number(place, match["first"], term)
        last = _number(place, match["last"], term) if match["last"] else most if slash else first
    if first > last:
        raise ValueError(f"{FIELDS[place][0]} {term[:40]!r} runs backwards; write it as two ranges")
    return set(range(first, last + 1, int(step) if slash else 1))


def _depends_on_the_month(place: int, term: str) -> bool:
    if place == DAY_OF_MONTH:
        return term in ("L", "LW")
    if place != DAY_OF_WEEK:
        return False
    day, hash_, nth = term.partition("#")
    if hash_:
        _number(place, day, term)
        if nth not in ("1", "2", "3", "4", "5"):
            raise _wrong(place, term)
        return True
    if term.endswith("L") and term[:-1].isascii() and term[:-1].isdigit():
        _number(place, term[:-1], term)
        return True
    return False


def _number(place: int, text: str, term: str) -> int:
    _, least, most, names, first = FIELDS[place]
    if text in names:
        return names.index(text) + first
    if not NUMBER(text) or not least <= int(text) <= most:
        raise _wrong(place, term)
    return int(text)


def _wrong(place: int, term: str) -> ValueError:
    name, least, most, names, _ = FIELDS[place]
    words = f" or {names[0]} to {names[-1]}" if names else ""
    return ValueError(f"{name} {term[:40]!r} is not {least} to {most}{words}, a range, a step or a list of them")


def _check_that_the_day_comes(fields: list[str], values: list[set[int]]) -> None:
    """Refuse the 31st of February: a day of the week beside it would be an alternative, with a star it is not."""
    days, either = values[DAY_OF_MONTH], not any(fields[n].startswith("*") for n in (DAY_OF_MONTH, DAY_OF_WEEK))
    if "L" in fields[DAY_OF_MONTH] or either:
        return
    longest = max(LONGEST_MONTHS[month - 1] for month in values[MONTH])
    if min(days) > longest:
        raise ValueError(f"day of month {fields[DAY_OF_MONTH][:40]!r} never comes in month {fields[MONTH][:40]!r}")
