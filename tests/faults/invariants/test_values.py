"""Watermarks, numbers and memory: a good history passes, a bad one does not."""

from __future__ import annotations

import os
from datetime import UTC, datetime

import pytest

from faults.invariants.residence import resident
from faults.invariants.values import MEBIBYTE, bounded_memory, finite_values, monotone_watermarks

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_watermark_that_stays_or_goes_on_is_monotone_whatever_others_do() -> None:
    assert monotone_watermarks([("a", 5), ("b", 9), ("a", 5), ("a", 7), ("b", 10)]) == []


def test_a_watermark_that_goes_back_is_seen() -> None:
    (back,) = monotone_watermarks([("a", 5), ("a", 7), ("a", 6)])

    assert str(back) == "I14: a goes back from 7 to 6"


def test_finite_numbers_and_possible_times_pass() -> None:
    assert finite_values([("row", {"rate": 1.5, "at": [NOON, None], "name": "NaN", "count": 2**63})]) == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), datetime(9999, 1, 1, tzinfo=UTC)])
def test_a_number_that_is_none_and_an_impossible_time_are_seen_however_deep(value: object) -> None:
    (unfit,) = finite_values([("row", {"rates": [1.0, {"deep": value}]})])

    assert unfit.what.startswith("row.rates[1].deep: ")


def test_memory_that_grew_at_the_start_only_is_bounded() -> None:
    samples = [(float(at), 100 * MEBIBYTE + min(at, 60) * MEBIBYTE) for at in range(600)]

    assert bounded_memory(samples) == []


def test_memory_that_wavers_is_bounded() -> None:
    assert bounded_memory([(float(at), 100 * MEBIBYTE + (at % 7) * MEBIBYTE) for at in range(600)]) == []


def test_memory_that_grows_and_grows_is_not() -> None:
    (leak,) = bounded_memory([(float(at), 100 * MEBIBYTE + at * 50_000) for at in range(600)])

    assert "2.86 MiB a minute" in leak.what


def test_this_process_holds_memory_and_one_that_is_gone_holds_none() -> None:
    held = resident(os.getpid())

    assert held is not None
    assert held > MEBIBYTE
    assert resident(2**22 + 1) is None
