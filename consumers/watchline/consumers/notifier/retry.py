"""When to try again: what a server asked for, or a delay that grows."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

DEFAULT_RETRY_AFTER = 30.0
MAX_RETRY_AFTER = 900.0  # a server that asks for a week is not obeyed: people wait for the alert
MAX_DELAY = 300.0


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


def backoff(attempts: int, chance: float, *, longest: float = MAX_DELAY) -> float:
    """Seconds to wait after `attempts` failures: doubling from 1, half of it by `chance` in [0, 1)."""
    full = min(longest, 2.0 ** min(max(attempts - 1, 0), 20))
    return full * (0.5 + chance / 2)
