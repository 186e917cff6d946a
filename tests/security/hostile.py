"""Texts that want to be more than text."""

from __future__ import annotations

import re
from typing import Any

from stack.cases import read_cases

STEERING = {
    "carriage return": "ok\rERROR forged",
    "line feed": "ok\n2026-11-30 [error] forged",
    "escape": "\x1b[2J\x1b]0;title\x07",
    "one-byte escape": "\x9b31m",
    "right to left": "gnp.\u202eexe",
    "isolate": "\u2066admin\u2069",
    "line separator": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "null": "a\x00b",
    "delete": "a\x7fb",
}
PLAIN = re.compile(r"[a-z_.]+|[0-9a-f-]{36}|\d{4}-\d\d-\d\dT.*")  # our words, ids and times
RAW = "\r\x1b\x07\x9b\x85\x00\x7f\u202e\u2066\u2069\u2028\u2029"


def raw_in(text: str) -> set[str]:
    """What of the steering characters stands in `text` as it is; its own line feeds are not among them."""
    return {character for character in RAW if character in text}


def injections() -> dict[str, str]:
    """The texts of the `inj-*` cases, each once, by case and field."""
    found: dict[str, str] = {}
    for case in read_cases():
        if case.name.startswith("inj-"):
            found |= {text: f"{case.name}{path}" for path, text in texts_of(case.fields) if not PLAIN.fullmatch(text)}
    return {name: text for text, name in found.items()}


def texts_of(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [each for name, part in value.items() for each in texts_of(part, f"{path}.{name}")]
    if isinstance(value, list):
        return [each for part in value for each in texts_of(part, path)]
    return [(path, value)] if isinstance(value, str) else []
