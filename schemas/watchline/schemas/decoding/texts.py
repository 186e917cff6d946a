"""Free text: kept as sent, but for what a database can't store, what nobody may read, and what is too long."""

from __future__ import annotations

import re
from typing import Any

from watchline.schemas import flags
from watchline.schemas.decoding.reading import Check, Reading
from watchline.schemas.errors import BadEvent
from watchline.schemas.limits import MAX_DETAIL_INPUT, MAX_NAME, MAX_TEXT
from watchline.schemas.masking import SHORTEST, mask_secrets

REPLACEMENT = "\ufffd"
CUT_MARK = "… [cut]"
# Postgres refuses NUL in text and jsonb (22021, 22P05); a lone surrogate has no UTF-8.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
LONGEST_SECRET = 1024


def clean_text(text: str, reading: Reading, limit: int = MAX_TEXT) -> str:
    """`text` without NUL and lone surrogates, of at most `limit` characters."""
    if not text.isprintable() and UNSTORABLE.search(text):
        text = UNSTORABLE.sub(REPLACEMENT, text)
        reading.note(flags.TEXT_CLEANED)
    if len(text) > limit:
        text = text[: limit - len(CUT_MARK)] + CUT_MARK
        reading.note(flags.TEXT_CUT)
    return text


def clean_free_text(text: str, reading: Reading, limit: int = MAX_TEXT) -> str:
    """`text` cleaned, its secrets masked, then cut: a secret cut in half would not be recognised."""
    if len(text) < SHORTEST and text.isalnum():
        return text
    head = text[: 2 * limit]
    masked = mask_secrets(head)
    if masked != head:
        reading.note(flags.SECRET_MASKED)
    if len(head) < len(text):
        masked = masked[:-LONGEST_SECRET] + CUT_MARK
        reading.note(flags.TEXT_CUT)
    return clean_text(masked, reading, limit)


def optional_text(limit: int) -> Check:
    """A check for an optional text of at most `limit` characters."""

    def check(value: Any, _name: str, reading: Reading) -> str | None:
        if type(value) is str:
            return clean_free_text(value, reading, limit)
        reading.note(flags.VALUE_DROPPED)
        return None

    return check


def required_text(limit: int) -> Check:
    """A check for a text without which the event means nothing."""

    def check(value: Any, name: str, reading: Reading) -> str:
        if type(value) is not str or not value.strip():
            raise BadEvent("wrong_type", f"$.{name} must be a text that is not empty")
        return clean_free_text(value, reading, limit)

    return check


def texts(value: Any, _name: str, reading: Reading) -> tuple[str, ...]:
    """A list of texts, for tags and metric names: what is no text is left out."""
    if type(value) is not list:
        reading.note(flags.VALUE_DROPPED)
        return ()
    kept = tuple(clean_free_text(item, reading, MAX_NAME) for item in value if type(item) is str)
    if len(kept) != len(value):
        reading.note(flags.VALUE_DROPPED)
    return kept


def quote(text: str) -> str:
    """A short piece of the input that an error message may show: printable, masked, cut."""
    shown = mask_secrets(text[: 2 * MAX_DETAIL_INPUT])[:MAX_DETAIL_INPUT]
    return repr(UNSTORABLE.sub(REPLACEMENT, shown))
