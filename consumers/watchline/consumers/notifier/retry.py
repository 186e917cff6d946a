"""When a server wants to be asked again."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

DEFAULT_RETRY_AFTER = 30.0
MAX_RETRY_AFTER = 900.0  # a server that asks for a week is not obeyed: people wait for the alert


def retry_after(header: str | None, now: datetime) -> float:
    """Seconds that a `Retry-After` header asks for, in seconds or as an HTTP date (RFC 9110, 10.2.3)."""
    text = (header or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:9]), MAX_RETRY_AFTER)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return DEFAULT_RETRY_AFTER
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(0.0, (at - now).total_seconds()), MAX_RETRY_AFTER)
