"""How a run ended: its status and its error, neither of which may cost the fact that it ended."""

from __future__ import annotations

import json
from typing import Any, get_args

from watchline.schemas import flags
from watchline.schemas.decoding.maps import clean_tree
from watchline.schemas.decoding.reading import Reading
from watchline.schemas.decoding.texts import clean_free_text
from watchline.schemas.events import EndStatus, RunError
from watchline.schemas.limits import MAX_NAME

STATUSES = frozenset(get_args(EndStatus))


def read_status(value: Any, reading: Reading) -> tuple[str, str | None]:
    """The status, and what was sent when it is none of ours."""
    if type(value) is str:
        if value in STATUSES:
            return value, None
        if value.lower() in STATUSES:
            reading.note(flags.STATUS_NORMALISED)
            return value.lower(), None
    reading.note(flags.STATUS_UNKNOWN)
    if value is None:
        return "unknown", None
    sent = value if type(value) is str else json.dumps(value, sort_keys=True)
    return "unknown", clean_free_text(sent, reading, MAX_NAME)


def check_error(value: Any, name: str, reading: Reading) -> RunError:
    """The error as text or as {type, message}; anything else as its JSON."""
    if type(value) is str:
        return RunError(message=clean_free_text(value, reading))
    if type(value) is dict and type(value.get("message")) is str and type(value.get("type")) in (str, type(None)):
        kind = value.get("type")
        return RunError(
            type=None if kind is None else clean_free_text(kind, reading, MAX_NAME),
            message=clean_free_text(value["message"], reading),
        )
    reading.note(flags.ERROR_CONVERTED)
    text = json.dumps(clean_tree(value, name, reading), ensure_ascii=False, sort_keys=True)
    return RunError(message=clean_free_text(text, reading))
