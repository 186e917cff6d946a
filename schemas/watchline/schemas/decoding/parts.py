"""The parts of a declaration: a malformed one is left out and flagged, the rest of the declaration counts."""

from __future__ import annotations

import json
from typing import Any

from pydantic import ValidationError

from watchline.schemas import flags
from watchline.schemas.declaration import Part
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
        return model.model_validate_json(json.dumps(tree), strict=True)
    except ValidationError:
        reading.note(flags.PART_DROPPED)
        return None
