"""The parts of a declaration: a malformed one is left out and flagged, the rest of the declaration counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from watchline.schemas import flags
from watchline.schemas.cron import read_cron, read_dates, read_zone
from watchline.schemas.declaration import (
    CompleteBy,
    DoneBy,
    Freshness,
    Part,
    Schedule,
    Timeliness,
    TypeDefaults,
)
from watchline.schemas.decoding.maps import clean_tree
from watchline.schemas.decoding.reading import Check, Reading


def part(model: type[Part]) -> Check:
    """A check for one optional part."""

    def check(value: Any, name: str, reading: Reading) -> Part | None:
        return read_part(model, value, name, reading)

    return check


def parts(model: type[Part]) -> Check:
    """A check for a list of parts, each judged on its own."""

    def check(value: Any, name: str, reading: Reading) -> tuple[Part, ...]:
        if type(value) is not list:
            reading.note(flags.PART_DROPPED)
            return ()
        found = (read_part(model, item, name, reading) for item in value)
        return tuple(item for item in found if item is not None)

    return check


def read_part(model: type[Part], value: Any, name: str, reading: Reading) -> Part | None:
    """One part, strictly: "60" is no number of seconds."""
    tree = clean_tree(value, name, reading)
    try:
        found = model.model_validate_json(json.dumps(tree), strict=True)
        check_times(found)
    except ValueError:  # pydantic's ValidationError is one
        reading.note(flags.PART_DROPPED)
        return None
    return found


def check_times(found: Part | None) -> None:
    """Refuse with a ValueError what can't be reckoned with, and a limit of time that limits nothing.

    Here and not in the model: rows and records written before must go on being read.
    """
    if isinstance(found, TypeDefaults):
        check_times(found.freshness)
        check_times(found.timeliness)
    if isinstance(found, Timeliness) and found.max_duration_seconds is None and found.done_by is None:
        raise ValueError("neither max_duration_seconds nor done_by is given")
    for times in times_of(found):
        read_cron(times.cron)
        read_zone(times.timezone)
    if isinstance(found, Schedule):
        for dates in found.exclude:
            read_dates(dates)


def times_of(found: Part | None) -> Iterator[Schedule | CompleteBy | DoneBy]:
    """The cron line and zone that a part has, if it has any."""
    if isinstance(found, Schedule):
        yield found
    elif isinstance(found, Freshness) and found.complete_by is not None:
        yield found.complete_by
    elif isinstance(found, Timeliness) and found.done_by is not None:
        yield found.done_by
