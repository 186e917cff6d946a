"""The decoder: bytes in, one event out, or the one error that says why not.

Identity and required times are never repaired; measurements, free text and declared parts are, and the repair is
named in `event.flags`. Each field is read by its own check from the table in `fields`; a clean value passes a check
in one comparison.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast

from watchline.schemas import flags
from watchline.schemas.decoding.construction import build
from watchline.schemas.decoding.document import read_document
from watchline.schemas.decoding.fields import MODELS, OPTIONAL, REQUIRED
from watchline.schemas.decoding.identity import wrong_type
from watchline.schemas.decoding.moments import is_ahead
from watchline.schemas.decoding.outcome import read_status
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import quote
from watchline.schemas.errors import BadEvent
from watchline.schemas.events import Event
from watchline.schemas.topics import MAX_RECORD_BYTES

VERSION = 1


def decode(raw: bytes | None, *, now: datetime) -> Event:
    """The event in `raw`, as seen at `now` (aware); BadEvent says why there is none."""
    reading = Reading(now)
    document = read_document(raw, reading)
    event_type = read_event_type(document)
    check_version(document, reading)
    values = read_required(event_type, document, reading)
    for name, check in OPTIONAL[event_type].items():
        value = document.get(name)
        if value is not None:  # null equals absent
            values[name] = check(value, name, reading)
    if event_type == "run.ended":
        values["status"], values["reported_status"] = read_status(document.get("status"), reading)
    elif event_type == "watermark.advanced":
        note_ahead(values, reading)
    if reading.flags:
        values["flags"] = reading.noted()
    return cast(Event, build(MODELS[event_type], values))


def check_key(key: bytes | None) -> None:
    """Refuse a key beyond the limit of a record; what it says does not matter, the payload decides."""
    if key is not None and len(key) > MAX_RECORD_BYTES:
        raise BadEvent("too_large", f"the key has {len(key)} bytes; at most {MAX_RECORD_BYTES}")


def read_event_type(document: dict[str, Any]) -> str:
    """The event type, one of those in the table."""
    event_type = document.get("event_type")
    if event_type is None:
        raise BadEvent("missing_field", "$.event_type is missing")
    if type(event_type) is not str:
        raise wrong_type("event_type", event_type, "a text")
    if event_type not in MODELS:
        raise BadEvent("unknown_event_type", f"$.event_type is {quote(event_type)}; a newer Watchline may know it")
    return event_type


def check_version(document: dict[str, Any], reading: Reading) -> None:
    """Refuse what a newer writer may have meant differently; without a version the first is meant."""
    version = document.get("schema_version", VERSION)
    if version is None or (type(version) is int and version == VERSION):
        return
    if type(version) not in (int, float):
        raise wrong_type("schema_version", version, "a number")
    if version != VERSION:
        raise BadEvent(
            "unsupported_schema_version", f"$.schema_version is not {VERSION}; a newer Watchline may know it"
        )
    reading.note(flags.NUMBER_NORMALISED)


def read_required(event_type: str, document: dict[str, Any], reading: Reading) -> dict[str, Any]:
    """The fields without which there is no event."""
    values: dict[str, Any] = {}
    for name, check in REQUIRED[event_type].items():
        value = document.get(name)
        if value is None:
            raise BadEvent("missing_field", f"$.{name} is missing or null")
        values[name] = check(value, name, reading)
    return values


def note_ahead(values: dict[str, Any], reading: Reading) -> None:
    """Flag a timestamp watermark from the future."""
    if values.get("kind") == "timestamp" and is_ahead(values["watermark"], reading):
        reading.note(flags.WATERMARK_AHEAD)
