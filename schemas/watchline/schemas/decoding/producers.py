"""Who sent an event: good to know, never needed."""

from __future__ import annotations

from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.measurements import count
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import optional_text
from watchline.schemas.events import Producer
from watchline.schemas.limits import MAX_NAME

CHECKS = {
    "name": optional_text(MAX_NAME),
    "version": optional_text(MAX_NAME),
    "host": optional_text(MAX_NAME),
    "pid": count,
}


def check_producer(value: Any, name: str, reading: Reading) -> Producer | None:
    """The sending program; what is malformed in it is left out."""
    if type(value) is not dict:
        reading.note(flags.VALUE_DROPPED)
        return None
    found = {
        field: check(value[field], f"{name}.{field}", reading)
        for field, check in CHECKS.items()
        if value.get(field) is not None
    }
    return Producer.model_construct(**found)
