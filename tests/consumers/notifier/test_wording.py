"""Numbers, durations and hostile texts as a person reads them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from watchline.consumers.notifier.wording import duration, number, utc
from watchline.schemas.printing import printable, shorten


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12.0, "12"),
        (1310, "1,310"),
        (0, "0"),
        (-9.0, "-9"),
        (0.12345, "0.123"),
        (12.345, "12.35"),
        (123.456, "123.5"),
        (1234.56, "1,235"),
        (1_500_000_000, "1,500,000,000"),
        (0.00001234, "1.23e-05"),
        (2.0**63, "9.22e+18"),
        (float("nan"), "nan"),
    ],
)
def test_a_number_has_separators_and_no_needless_digits(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.45, "450 ms"),
        (0.9999, "1 s"),
        (5.24, "5.2 s"),
        (42, "42 s"),
        (59.7, "1 min"),
        (185, "3 min 5 s"),
        (3 * 3600, "3 h"),
        (5 * 3600 + 12 * 60 + 30, "5 h 12 min"),
        (86_399.9, "1 d"),
        (3 * 86_400 + 4 * 3600, "3 d 4 h"),
        (-60, "-1 min"),
    ],
)
def test_a_duration_shows_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_time_of_another_zone_is_shown_in_utc() -> None:
    at = datetime(2026, 11, 30, 15, 5, 12, tzinfo=timezone(timedelta(hours=1)))

    assert utc(at) == "2026-11-30 14:05:12 UTC"


def test_control_characters_and_direction_overrides_are_shown_and_not_obeyed() -> None:
    shown = printable("a\x1b[31mred\x07\nb\u202ecod.exe\u2028c\x9b", 100)

    assert shown == "a\\x1b[31mred\\x07 b\\u202ecod.exe\\u2028c\\x9b"


def test_a_name_in_another_script_stays_as_it_is() -> None:
    assert printable("заказы 日次 ✓", 100) == "заказы 日次 ✓"


def test_a_shortened_text_keeps_the_limit() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"


def test_a_text_of_megabytes_is_cut_before_it_is_looked_at() -> None:
    assert printable("\x1b" * 10_000_000, 12) == "\\x1b\\x1b\\x1…"
