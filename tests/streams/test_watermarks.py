"""Watermarks: ordered ones never go back, and a regression is recorded."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest

from folds.log import NOON, PIPELINE, identity
from watchline.schemas import WatermarkAdvanced, WatermarkRecord
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.rows import WatermarksRow, encode_row
from watchline.streams.watermarks import fold_watermark

NOW = to_micros(NOON + timedelta(hours=1))


def advance(watermark: str, minute: int = 0, kind: str = "timestamp", **fields: Any) -> WatermarkAdvanced:
    return WatermarkAdvanced.model_validate(
        {
            "event_id": identity("watermark", watermark, minute),
            "occurred_at": NOON + timedelta(minutes=minute),
            "pipeline": PIPELINE,
            "watermark": watermark,
            "kind": kind,
            **fields,
        }
    )


def fold(*events: WatermarkAdvanced) -> list[WatermarkRecord]:
    row, effects = WatermarksRow(0), Effects()
    for offset, event in enumerate(events):
        row.offset = offset
        fold_watermark(row, event, now=NOW, epoch=0, effects=effects)
    return [record for record in effects.state if isinstance(record, WatermarkRecord)]


def test_a_lower_timestamp_is_a_regression_and_does_not_count() -> None:
    _, second = fold(advance("2026-11-30T12:00:00Z"), advance("2026-11-30T11:00:00Z", 1))

    assert second.effective == "2026-11-30T12:00:00Z"
    assert (second.regressed, second.regressions) == (True, 1)
    assert second.watermark == "2026-11-30T11:00:00Z"


def test_timestamps_compare_as_instants_not_as_text() -> None:
    _, second = fold(advance("2026-11-30T12:00:00+02:00"), advance("2026-11-30T11:00:00Z", 1))

    assert (second.effective, second.regressed) == ("2026-11-30T11:00:00Z", False)


def test_integers_compare_as_numbers_not_as_text() -> None:
    _, second = fold(advance("9", kind="integer"), advance("10", 1, kind="integer"))

    assert second.effective == "10"


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_the_effective_watermark_does_not_depend_on_the_order(order: tuple[int, ...]) -> None:
    events = [advance("1", 0, "integer"), advance("2", 1, "integer"), advance("3", 2, "integer")]

    records = fold(*(events[n] for n in order))

    assert records[-1].effective == "3"


def test_a_text_watermark_is_the_one_sent_last_whatever_arrives_last() -> None:
    records = fold(advance("b", 5, "text"), advance("c", 1, "text"))

    assert [record.effective for record in records] == ["b", "b"]
    assert records[1].regressed is False


def test_a_repeated_event_is_no_regression() -> None:
    first = advance("1", 0, "integer")

    records = fold(first, advance("2", 1, "integer"), first)

    assert [record.regressions for record in records] == [0, 0]


def test_datasets_have_watermarks_of_their_own() -> None:
    records = fold(advance("5", 0, "integer", dataset="a"), advance("3", 1, "integer", dataset="b"))

    assert [(record.dataset, record.effective) for record in records] == [("a", "5"), ("b", "3")]


def test_a_clock_that_runs_ahead_never_moves_a_watermark() -> None:
    skewed = advance("9", 1, "integer").model_copy(update={"flags": ("clock_skew",)})

    records = fold(advance("1", 0, "integer"), skewed)

    assert records[-1].effective == "1"


def test_a_first_watermark_from_a_clock_ahead_is_replaced_by_the_next() -> None:
    skewed = advance("a", 20 * 60, "text").model_copy(update={"flags": ("clock_skew",)})

    records = fold(skewed, advance("b", 61, "text"))

    assert [record.effective for record in records] == ["a", "b"]


def test_a_watermark_that_breaks_its_declared_kind_is_compared_as_text() -> None:
    records = fold(advance("ten", 0, "integer"), advance("eleven", 1, "integer"))

    assert records[-1].effective == "eleven"


def test_a_pipeline_with_endless_datasets_forgets_those_it_heard_of_longest_ago() -> None:
    row, effects = WatermarksRow(0), Effects()

    for n in range(200):
        row.offset = n
        fold_watermark(row, advance("w" * 8000, n, "text", dataset=f"d{n}"), now=NOW, epoch=0, effects=effects)
        fold_watermark(row, advance("1", n, "text", dataset="kept"), now=NOW, epoch=0, effects=effects)

    assert len(encode_row(row)) < 600 * 1024
    assert {"kept", "d199"} < set(row.marks)
    assert "d0" not in row.marks
