"""When to try again."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from watchline.consumers.notifier.retry import retry_after

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0),
        ("2", 2),
        (" 120 ", 120),
        ("99999999999999999999", 900),
        ("Mon, 30 Nov 2026 12:00:45 GMT", 45),
        ("Monday, 30-Nov-26 12:00:45 GMT", 45),
        ("Mon Nov 30 12:00:45 2026", 45),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0),
        ("Tue, 30 Nov 2027 12:00:00 GMT", 900),
        (None, 30),
        ("", 30),
        ("soon", 30),
        ("-5", 30),
        ("1.5", 30),
        ("٣", 30),
        ("Mon, 99 Nov 2026 12:00:45 GMT", 30),
        ("inf", 30),
    ],
)
def test_retry_after_is_obeyed_within_reason_and_garbage_is_not(header: str | None, seconds: float) -> None:
    assert retry_after(header, NOW) == seconds
