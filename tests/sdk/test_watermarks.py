"""Which watermark is in force."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from watchline.sdk.watermarks import fold_watermarks

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def advance(watermark: object, kind: str = "text", **more: Any) -> bytes:
    event = {
        "event_type": "watermark.advanced",
        "pipeline": "orders",
        "occurred_at": "2026-11-30T11:00:00Z",
        "watermark": watermark,
        "kind": kind,
    }
    return json.dumps(event | more).encode()


def fold(*values: bytes, dataset: str | None = None) -> str | None:
    return fold_watermarks(values, pipeline="orders", dataset=dataset, now=NOW)


def test_without_records_there_is_none() -> None:
    assert fold() is None


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("integer", "9", "10"),
        ("integer", "-5", "0"),
        ("timestamp", "2026-11-30T23:30:00+02:00", "2026-11-30T22:00:00Z"),
        ("timestamp", "2026-09-30", "2026-10-01T00:00:01"),
    ],
)
def test_ordered_kinds_never_go_back(kind: str, low: str, high: str) -> None:
    assert fold(advance(low, kind), advance(high, kind)) == high
    assert fold(advance(high, kind), advance(low, kind)) == high


def test_of_texts_the_last_counts() -> None:
    assert fold(advance("b"), advance("a")) == "a"


def test_what_can_not_be_compared_is_taken_as_it_comes() -> None:
    assert fold(advance("10", "integer"), advance("page 3", "integer")) == "page 3"
    assert fold(advance("2026-11-30", "timestamp"), advance("7", "integer")) == "7"


@pytest.mark.parametrize(
    "noise",
    [
        b"\xff", b"[]", b"null", b"[" * 100_000, advance(7), advance(None), advance("x", event_type="run.ended"),
        advance("x", pipeline="other"), advance("x", dataset="lines"),
        advance("x", occurred_at="2026-11-30T12:06:00Z"), advance("x", occurred_at="2026-11-30T11:00:00"),
        advance("x", occurred_at=None),
    ],
)  # fmt: skip
def test_what_moves_nothing_in_the_streams_moves_nothing_here(noise: bytes) -> None:
    assert fold(advance("in force"), noise) == "in force"


def test_a_dataset_has_its_own() -> None:
    values = (advance("own"), advance("lines", dataset="lines"))

    assert fold(*values) == "own"
    assert fold(*values, dataset="lines") == "lines"
