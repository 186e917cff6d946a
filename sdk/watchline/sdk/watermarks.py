"""Which of the watermarks in the log is in force: a pure fold over the records of one pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

CLOCK_SKEW = timedelta(minutes=5)


def fold_watermarks(values: Iterable[bytes], *, pipeline: str, dataset: str | None, now: datetime) -> str | None:
    """The watermark in force after `values` (oldest first) as seen at `now`; None when there is none.

    Kinds `timestamp` and `integer` never go back: the largest counts. For `text` the last counts. As in the streams,
    an event from more than five minutes ahead moves nothing.
    """
    best: str | None = None
    for value in values:
        event = read_advance(value)
        if event is None or event["pipeline"] != pipeline or event.get("dataset") != dataset:
            continue
        if is_ahead(event.get("occurred_at"), now):
            continue
        watermark = event["watermark"]
        if best is None or not goes_back(str(event.get("kind")), best, watermark):
            best = watermark
    return best


def goes_back(kind: str, before: str, after: str) -> bool:
    """Whether `after` lies before `before`; what can't be compared does not."""
    left, right = order_of(kind, before), order_of(kind, after)
    return left is not None and right is not None and right < left


def order_of(kind: str, watermark: str) -> Any:
    """What to compare watermarks of a kind by, None where there is no order."""
    try:
        if kind == "integer":
            return int(watermark)
        if kind == "timestamp":
            return read_moment(watermark)
    except ValueError:
        return None
    return None


def read_moment(text: str) -> datetime:
    """The instant of an ISO 8601 date or time; without an offset, UTC is meant."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def kind_of(watermark: object) -> str | None:
    """The kind that a Python value speaks of, None for text."""
    if isinstance(watermark, int) and not isinstance(watermark, bool):
        return "integer"
    return "timestamp" if isinstance(watermark, date) else None


def read_advance(value: bytes) -> dict[str, Any] | None:
    """The event of a record, None when it is none with a watermark; the streams dead-letter those."""
    try:
        event = json.loads(value)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or event.get("event_type") != "watermark.advanced":
        return None
    return event if isinstance(event.get("watermark"), str) and isinstance(event.get("pipeline"), str) else None


def is_ahead(occurred_at: object, now: datetime) -> bool:
    """Whether the sender's clock was more than five minutes ahead."""
    try:
        moment = datetime.fromisoformat(str(occurred_at))
    except ValueError:
        return True  # no usable time: the streams refuse it
    return moment.tzinfo is None or moment - now > CLOCK_SKEW
