"""Texts of other people as a person or a terminal may be shown them."""

from __future__ import annotations

import unicodedata

# Like control characters in a terminal, overrides of the writing direction make a text read as another one.
UNPRINTABLE = {"Cc", "Cs", "Zl", "Zp"}
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str, limit: int) -> str:
    """At most `limit` characters of `text` in one line; what could steer a terminal or the direction is escaped."""
    # Cut before, too: texts of megabytes must not cost a pass over all of them.
    return shorten("".join(_shown(character) for character in shorten(text, limit)), limit)


def printable_lines(text: str) -> str:
    """All of `text`, its lines kept: for a traceback, whose messages may hold anything."""
    return "\n".join("".join(map(_shown, line)) for line in text.split("\n"))


def shorten(text: str, limit: int) -> str:
    """At most `limit` characters, an ellipsis in place of the rest."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def _shown(character: str) -> str:
    if character in "\n\t\r":
        return " "
    if unicodedata.category(character) in UNPRINTABLE or character in DIRECTIONS:
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return character
