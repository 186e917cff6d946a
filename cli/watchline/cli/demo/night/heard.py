"""The messages of the night, put together from the lines that the notifier has printed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

MARKS = ("FAIL ", "WARN ", "RESOLVED ")
REFERENCE = re.compile(r"incident (?P<incident>[0-9a-f]{8}), change (?P<number>\d+)$")


@dataclass(frozen=True, slots=True)
class Heard:
    """One story that people were told: its lines, and which change of which incident (first 8 digits) it tells."""

    lines: tuple[str, ...]
    incident: str
    number: int


def read_messages(lines: Iterable[str]) -> list[Heard]:
    """The stories in the order in which they were told; what is not finished yet is left out."""
    found: list[Heard] = []
    told: list[str] = []
    for line in lines:
        if line.startswith(MARKS):
            told = []
        reference = REFERENCE.search(line.strip())
        if reference is None:
            told.append(line)
        elif told:
            found.append(Heard(tuple(told), reference["incident"], int(reference["number"])))
            told = []
    return found
