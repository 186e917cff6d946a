"""Making what a job hands over fit for an event, so that the decoder has nothing to repair. Nothing here raises."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from watchline.schemas.limits import MAX_INTEGER, MAX_KEYS, MAX_NAME, MAX_SECONDS, MAX_TEXT
from watchline.sdk.harmless import log, usable, warn_once

MAX_NESTING = 12  # the record adds two levels, the decoder allows 16
MAX_ITEMS = 10_000  # of one list; a million would take the job a second
CUT_MARK = "… [cut]"
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# The names that the decoder refuses; a test holds the two together. Its module would load pydantic.
FORBIDDEN_IN_NAME = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
# What any secret that we know how to mask contains; a text without them needs no masker.
SECRET_MARKS = re.compile(
    r"://|bearer|authorization|AKIA|ASIA|eyJ|xox|gh[pousr]_|hooks\.slack|PRIVATE KEY|passw|pwd|secret|token|key", re.I
)


def clean_text(value: object, limit: int = MAX_TEXT) -> str:
    """Text that can be stored: no NUL, no lone surrogates, secrets masked, at most `limit` characters."""
    try:
        text = value if type(value) is str else str(value)
    except Exception as error:  # noqa: BLE001 - a broken __str__ of the job's own object
        text = f"<{type(value).__name__} without text: {type(error).__name__}>"
    text = UNSTORABLE.sub("\ufffd", mask(text[: 2 * limit]))
    return text if len(text) <= limit else text[: limit - len(CUT_MARK)] + CUT_MARK


def mask(text: str) -> str:
    """The text with its secrets replaced by the contract's masker."""
    if not SECRET_MARKS.search(text):
        return text
    from watchline.schemas.masking import mask_secrets  # noqa: PLC0415 - few texts need it

    return mask_secrets(text)


def clean_name(what: str, value: object, limit: int = MAX_NAME) -> str | None:
    """A trimmed name of 1 to `limit` visible characters, else None with a warning: names are never repaired."""
    name = value.strip() if isinstance(value, str) else ""
    if 0 < len(name) <= limit and not FORBIDDEN_IN_NAME.search(name):
        return name
    warn_once(f"name {what}", "%s %.200r must be a text of 1 to %d visible characters", what, value, limit)
    return None


def clean_count(name: str, value: object) -> int | None:
    """A count of 0 to 2^63-1, else None with a warning."""
    number = clean_number(name, value)
    if number is None or number != int(number) or not 0 <= number <= MAX_INTEGER:
        warn_once(f"count {name}", "%s=%.200r is no count of rows and is left out", name, value)
        return None
    return int(number)


def clean_number(name: str, value: object) -> float | int | None:
    """A finite number, else None with a warning."""
    try:
        number = int(value) if isinstance(value, int) else float(value)  # type: ignore[arg-type]  # it raises for what is none
        if math.isfinite(number):
            return number
    except Exception as error:  # noqa: BLE001 - a number of the job's own making may raise anything
        log.debug("%s is no number: %s", name, type(error).__name__)
    warn_once(f"number {name}", "%s=%.200r is no finite number and is left out", name, value)
    return None


def clean_seconds(name: str, value: object) -> float | None:
    """A positive number of seconds, else None with a warning."""
    number = clean_number(name, value)
    if number is not None and 0 < number <= MAX_SECONDS:
        return float(number)
    warn_once(f"seconds {name}", "%s=%.200r is no positive number of seconds and is left out", name, value)
    return None


def clean_labels(labels: object) -> dict[str, str]:
    """At most 64 texts under text keys."""
    return {key: clean_text(value) for key, value in first_keys("labels", labels).items()}


def clean_metadata(metadata: object) -> dict[str, Any]:
    """A JSON object; what JSON does not know becomes text."""
    return {
        key: usable(f"metadata {key}", clean_json, value) for key, value in first_keys("metadata", metadata).items()
    }


def clean_json(value: object, depth: int = MAX_NESTING) -> Any:
    """A JSON value: dates as ISO text, numbers that are not finite as null, the rest as text."""
    if depth > 0 and isinstance(value, Mapping):
        return {key: clean_json(item, depth - 1) for key, item in first_keys("metadata", value).items()}
    if depth > 0 and isinstance(value, set | frozenset) and is_short(value):
        # A set has another order in every process, and a declaration the same hash in all.
        return sorted((clean_json(item, depth - 1) for item in value), key=repr)
    if depth > 0 and isinstance(value, Sequence) and not isinstance(value, str | bytes) and is_short(value):
        return [clean_json(item, depth - 1) for item in value]
    return clean_scalar(value)


def is_short(values: Collection[object]) -> bool:
    """Whether a list can be read without holding up the job; one that can't is said, and becomes a text."""
    if len(values) <= MAX_ITEMS:
        return True
    warn_once("list size", "a list of %d items is written as text; at most %d are read", len(values), MAX_ITEMS)
    return False


def clean_scalar(value: object) -> Any:
    """A JSON value that holds no other."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= MAX_INTEGER:
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Collection) and not isinstance(value, str | bytes) and len(value) > MAX_ITEMS:
        return f"{type(value).__name__} of {len(value)} items {CUT_MARK}"
    return value.isoformat() if isinstance(value, date) else clean_text(value)


def clean_watermark(value: object) -> str | None:
    """A watermark as text: dates and times in ISO 8601, the rest as written; None with a warning for one too long.

    It is read back by the next run, so it is never cut or masked.
    """
    text = usable("a watermark", write_watermark, value)
    if text is None:
        return None
    if len(text) <= MAX_TEXT and not UNSTORABLE.search(text):
        return text
    warn_once("watermark", "a watermark of %d characters can't be kept; at most %d", len(text), MAX_TEXT)
    return None


def write_watermark(value: object) -> str:
    """Dates and times in ISO 8601, the rest as written."""
    return value.isoformat() if isinstance(value, date) else str(value)


def clean_time(name: str, value: object) -> str | None:
    """RFC 3339 in UTC of a time with an offset, else None with a warning: a guessed zone would be a wrong time."""
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        moment = None
    if moment is None or moment.utcoffset() is None:
        warn_once(f"time {name}", "%s=%.200r is no time with an offset and is left out", name, value)
        return None
    return write_time(moment)


def write_time(moment: datetime) -> str:
    """RFC 3339 in UTC."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def first_keys(what: str, found: object) -> dict[str, Any]:
    """At most 64 entries of a mapping under usable keys; a warning says what is left out."""
    if not isinstance(found, Mapping):
        if found is not None:
            warn_once(what, "%s is no mapping and is left out: %.200r", what, found)
        return {}
    kept = {key: value for raw, value in found.items() if (key := clean_text(raw, MAX_NAME))}
    if len(kept) > MAX_KEYS:
        warn_once(f"{what} size", "%s has %d keys, those after the first %d are left out", what, len(kept), MAX_KEYS)
    return dict(list(kept.items())[:MAX_KEYS])
