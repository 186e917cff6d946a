"""Scenario 13: a producer in the wrong zone sends a watermark two hours ahead, then correct ones."""

from __future__ import annotations

from datetime import datetime
from itertools import permutations

import orjson
import pytest

from folds.log import PIPELINE, Log, ended, identity, started
from folds.schedules import DAY, HOUR, MINUTE, utc
from watchline.schemas import WatermarkAdvanced, WatermarkRecord, decode
from watchline.streams.declarations import Declared
from watchline.streams.effects import Effects
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import WatermarksRow
from watchline.streams.watermarks import complete_until, fold_watermark

TEN = utc("2026-12-01 10:00")
LAGGING = Declared(lag_limit=3600 * SECOND)


class Dataset:
    """The watermarks of a pipeline, each read at once unless told otherwise."""

    def __init__(self) -> None:
        self.row, self.effects = WatermarksRow(0), Effects()

    def advance(self, watermark: datetime, at: datetime, *, read_at: datetime | None = None) -> WatermarkRecord:
        document = {
            "event_type": "watermark.advanced", "event_id": str(identity(watermark, at)), "pipeline": PIPELINE,
            "occurred_at": at.isoformat(), "watermark": watermark.isoformat(), "kind": "timestamp",
        }  # fmt: skip
        event = decode(orjson.dumps(document), now=read_at or at)
        assert isinstance(event, WatermarkAdvanced)
        self.row.offset += 1
        fold_watermark(self.row, event, now=to_micros(read_at or at), epoch=0, effects=self.effects)
        record = self.effects.state[-1]
        assert isinstance(record, WatermarkRecord)
        return record


def test_it_is_flagged_and_kept_as_it_came_and_counts_only_up_to_when_it_was_sent() -> None:
    data = Dataset()
    data.advance(TEN, TEN)

    ahead = data.advance(TEN + 2 * HOUR, TEN + MINUTE)

    assert ahead.flags == ("watermark_ahead",)
    assert ahead.watermark == (TEN + 2 * HOUR).isoformat()
    assert complete_until(data.row) == to_micros(TEN + MINUTE)


def test_the_correct_ones_after_it_are_no_regression_and_hold() -> None:
    data = Dataset()
    data.advance(TEN, TEN)
    data.advance(TEN + 2 * HOUR, TEN + MINUTE)

    correct = data.advance(TEN + 2 * MINUTE, TEN + 2 * MINUTE)

    assert (correct.flags, correct.regressed, correct.regressions) == ((), False, 0)
    assert correct.effective == (TEN + 2 * MINUTE).isoformat()


def test_it_is_no_different_when_the_log_is_read_again_after_that_time() -> None:
    """The flag depends on the clock of whoever reads, the fold does not."""
    data, again = Dataset(), Dataset()
    for read_at, each in ((None, data), (TEN + DAY, again)):
        each.advance(TEN, TEN, read_at=read_at)
        each.advance(TEN + 2 * HOUR, TEN + MINUTE, read_at=read_at)
        each.advance(TEN + 2 * MINUTE, TEN + 2 * MINUTE, read_at=read_at)

    assert again.row == data.row


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_in_any_order_the_correct_one_that_reaches_furthest_holds(order: tuple[int, ...]) -> None:
    sent = [(TEN, TEN), (TEN + 2 * HOUR, TEN + MINUTE), (TEN + 2 * MINUTE, TEN + 2 * MINUTE)]
    data = Dataset()

    for number in order:
        data.advance(*sent[number], read_at=TEN + 3 * MINUTE)

    assert complete_until(data.row) == to_micros(TEN + 2 * MINUTE)


def test_lateness_in_these_two_hours_is_told() -> None:
    data, log = Dataset(), Log(LAGGING)
    data.advance(TEN, TEN)
    data.advance(TEN + 2 * HOUR, TEN + MINUTE)
    log.watermark_at = complete_until(data.row)
    log.append(started("r1", TEN), ended("r1", TEN))  # the pipeline is known

    log.pulse(TEN + HOUR)
    before = log.transitions("freshness")
    log.pulse(TEN + HOUR + MINUTE)

    assert before == []
    assert log.transitions("freshness") == ["opened"]
