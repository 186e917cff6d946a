"""Watermarks: opaque texts that are read back by the next run, so they are never cut or masked."""

from __future__ import annotations

from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.identity import wrong_type
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import clean_text
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import MAX_TEXT


def check_watermark(value: Any, name: str, reading: Reading) -> str:
    """The watermark that an event is about."""
    if type(value) is not str:
        raise wrong_type(name, value, "a text")
    if len(value) > MAX_TEXT:
        raise BadEvent("too_large", f"$.{name} has {len(value)} characters; at most {MAX_TEXT}")
    return clean_text(value, reading)


def optional_watermark(value: Any, _name: str, reading: Reading) -> str | None:
    """A watermark that an event only mentions."""
    if type(value) is str and len(value) <= MAX_TEXT:
        return clean_text(value, reading)
    reading.note(flags.VALUE_DROPPED)
    return None
