"""Fields with few values: booleans, kinds, verdicts."""

from __future__ import annotations

from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.identity import wrong_type
from watchline.schemas.decoding.reading import Check, Reading
from watchline.schemas.errors import BadEvent


def boolean(default: bool) -> Check:
    """A check for true or false; anything else is `default`."""

    def check(value: Any, _name: str, reading: Reading) -> bool:
        if type(value) is bool:
            return value
        reading.note(flags.VALUE_DROPPED)
        return default

    return check


def choice(options: tuple[str, ...], default: str) -> Check:
    """A check for one of `options`; anything else is `default`."""

    def check(value: Any, _name: str, reading: Reading) -> str:
        if type(value) is str and value in options:
            return value
        reading.note(flags.VALUE_DROPPED)
        return default

    return check


def required_choice(options: tuple[str, ...]) -> Check:
    """A check for one of `options`, without which the event means nothing."""

    def check(value: Any, name: str, _reading: Reading) -> str:
        if type(value) is not str:
            raise wrong_type(name, value, "a text")
        if value not in options:
            raise BadEvent("wrong_type", f"$.{name} must be one of {', '.join(options)}")
        return value

    return check
