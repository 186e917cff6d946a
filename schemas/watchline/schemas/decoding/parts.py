"""The parts of a declaration: a malformed one is left out and flagged, the rest of the declaration counts."""

from __future__ import annotations

import json
from typing import Any

from watchline.schemas import flags
from watchline.schemas.cron import read_cron, read_dates, read_zone
from watchline.schemas.declaration import Part, Schedule
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
        if isinstance(found, Schedule):
            check_schedule(found)
    except ValueError:  # pydantic's ValidationError is one
        reading.note(flags.PART_DROPPED)
        return None
    return found


def check_schedule(schedule: Schedule) -> None:
    """Refuse with a ValueError what can't be reckoned with.

    Here and not in the model: rows and records written before must go on being read.
    """
    read_cron(schedule.cron)
    read_zone(schedule.timezone)
    for dates in schedule.exclude:
        read_dates(dates)
