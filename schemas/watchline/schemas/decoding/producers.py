"""Who sent an event: good to know, never needed."""

from __future__ import annotations

from functools import lru_cache
from types import NoneType
from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.measurements import count
from watchline.schemas.decoding.reading import Check, Reading
from watchline.schemas.decoding.texts import optional_text
from watchline.schemas.events import Producer
from watchline.schemas.limits import EARLIEST, MAX_NAME

TEXT = optional_text(MAX_NAME)
CHECKS: dict[str, Check] = {"name": TEXT, "version": TEXT, "host": TEXT, "pid": count}
SCALARS = {str, int, NoneType}  # not bool and float: 1, 1.0 and True would be one key of the cache


def check_producer(value: Any, _name: str, reading: Reading) -> Producer | None:
    """The sending program; what is malformed in it is left out."""
    if type(value) is not dict:
        reading.note(flags.VALUE_DROPPED)
        return None
    found = tuple(map(value.get, CHECKS))
    producer, noted = known_producer(found) if SCALARS.issuperset(map(type, found)) else read_producer(found)
    reading.flags.extend(noted)
    return producer


def read_producer(found: tuple[Any, ...]) -> tuple[Producer, tuple[str, ...]]:
    """The producer with these fields, in the order of CHECKS, and what had to be repaired."""
    reading = Reading(EARLIEST)  # no field is a time
    fields = {
        name: check(value, f"producer.{name}", reading)
        for (name, check), value in zip(CHECKS.items(), found, strict=True)
        if value is not None
    }
    return Producer(**fields), reading.noted()


# A process sends many events and is the same producer in each.
known_producer = lru_cache(maxsize=4096)(read_producer)
