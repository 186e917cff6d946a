"""Free maps: labels of text, and metadata of any JSON, in a form that every store can hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.measurements import require_finite
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import clean_free_text, clean_text
from watchline.schemas.limits import MAX_INTEGER, MAX_NAME, MAX_TEXT


def labels(value: Any, name: str, reading: Reading) -> dict[str, str]:
    """Labels, text to text: scalars become text, containers and nulls are left out."""
    if type(value) is not dict:
        reading.note(flags.LABELS_REPAIRED)
        return {}
    kept: dict[str, str] = {}
    for key, item in in_order(value):
        text = item if type(item) is str else scalar_text(item, name)
        if text is not item or text is None or not 0 < len(key) <= MAX_NAME:
            reading.note(flags.LABELS_REPAIRED)
        if text is not None and 0 < len(key) <= MAX_NAME:
            kept[clean_text(key, reading)] = clean_free_text(text, reading)
    return kept


def in_order(value: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """The items, sorted where cleaning may make two keys one: which of them stays must not depend on their order."""
    if all(map(str.isprintable, value)) and max(map(len, value), default=0) <= MAX_TEXT:
        return value.items()
    return sorted(value.items())  # keys differ, so values are never compared


def scalar_text(value: Any, name: str) -> str | None:
    """What a boolean or number looks like in JSON; None for the rest."""
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int or (type(value) is float and require_finite(value, name)):
        return repr(value)
    return None


def metadata(value: Any, name: str, reading: Reading) -> dict[str, Any]:
    """A JSON object, cleaned all through."""
    if type(value) is not dict:
        reading.note(flags.VALUE_DROPPED)
        return {}
    cleaned: dict[str, Any] = clean_tree(value, name, reading) if value else {}
    return cleaned


def clean_tree(value: Any, name: str, reading: Reading) -> Any:
    """Any JSON value with its texts cleaned and integers beyond 64 bits dropped; read_document bounds its depth."""
    if type(value) is str:
        return clean_free_text(value, reading)
    if type(value) is dict:
        return {clean_text(key, reading): clean_tree(item, name, reading) for key, item in in_order(value)}
    if type(value) is list:
        return [clean_tree(item, name, reading) for item in value]
    if type(value) is float:
        require_finite(value, name)
    elif type(value) is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
        reading.note(flags.MEASUREMENT_DROPPED)
        return None
    return value
