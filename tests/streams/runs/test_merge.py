"""Merging a run: any order and any repetition of its events give the same run."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folds.log import KEY, NOON, Log, ended, heartbeat, identity, started
from watchline.streams.detection import unpack
from watchline.streams.intake import Taken
from watchline.streams.rows import unpack_run
from watchline.streams.runs.fold import RunsEvent

LATER = NOON + timedelta(minutes=5)
EVENTS: tuple[RunsEvent, ...] = (
    started("a", NOON, watermark="10", nominal_at=NOON, labels={"branch": "main"}),
    heartbeat("a", NOON + timedelta(minutes=1)),
    ended("a", LATER, inserts=10, next_watermark="20"),
    ended("a", LATER + timedelta(seconds=1), "failed", error={"message": "boom"}, labels={"branch": "end"}),
)


def essence(log: Log) -> dict[str, Any]:
    """The run as the row holds it, without what depends on when a heartbeat came."""
    (run,) = [*log.row.open, *map(unpack_run, log.row.ended)]
    return {
        "start": run.started_at,
        "end": run.end and (run.end.ended_at, run.end.status, run.end.inserts),
        "watermarks": (run.watermark, run.end and run.end.next_watermark),
        "nominal": run.nominal_at,
    }


@pytest.mark.parametrize("order", list(permutations(EVENTS)), ids=lambda order: "".join(e.event_type[4] for e in order))
def test_every_order_gives_the_same_run(order: tuple[RunsEvent, ...]) -> None:
    expected, log = Log(), Log()
    expected.append(*EVENTS)

    for event in order:
        log.append(event)

    assert essence(log) == essence(expected)
    assert log.newest("a").status == "failed"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), min_size=1, max_size=12), st.integers(1, 5))
def test_repetitions_and_batch_borders_change_nothing(events: list[RunsEvent], size: int) -> None:
    seen = list(dict.fromkeys(event.event_id for event in events))
    once, again = Log(), Log()
    once.append(*[next(e for e in events if e.event_id == event_id) for event_id in seen])

    for at in range(0, len(events), size):
        again.append(*events[at : at + size])

    assert essence(again) == essence(once)


def test_a_late_start_does_not_reopen_an_ended_run() -> None:
    log = Log()
    log.append(ended("a", LATER))

    log.append(started("a", NOON))

    record = log.newest("a")
    assert (record.status, record.started_at, record.duration_seconds) == ("succeeded", NOON, 300.0)


def test_an_end_before_the_start_has_no_duration_and_a_flag() -> None:
    log = Log()

    log.append(started("a", LATER), ended("a", NOON, duration_ms=4_200))

    assert log.newest("a").duration_seconds is None
    assert log.newest("a").flags == ("negative_duration",)
    assert log.newest("a").status == "succeeded"


def test_the_measured_duration_wins_over_the_difference_of_two_clocks() -> None:
    log = Log()

    log.append(started("a", NOON), ended("a", LATER, duration_ms=1_500, total_rows=300))

    assert log.newest("a").duration_seconds == 1.5
    assert log.newest("a").throughput == 200.0


def test_a_heartbeat_after_the_end_does_not_reopen_the_run() -> None:
    log = Log()
    log.append(started("a", NOON), ended("a", LATER))

    log.append(heartbeat("a", LATER + timedelta(minutes=1)))

    assert log.newest("a").status == "succeeded"
    assert log.row.open == []


def test_a_thousand_copies_of_one_end_are_one_record_and_one_lesson() -> None:
    log = Log()
    end = ended("a", NOON, inserts=5, duration_ms=1000)

    for _ in range(10):
        log.append(*[end] * 100)

    assert len(log.runs) == 1
    assert unpack(log.row.baselines["inserts"]).runs == 1


def test_a_record_read_again_after_a_crash_is_skipped_by_its_offset() -> None:
    log = Log()
    log.append(started("a", NOON), ended("a", LATER, inserts=5))
    row, said = log.rows.copy(), len(log.runs)
    log.take([Taken(0, KEY, started("a", NOON)), Taken(1, KEY, ended("b", LATER, inserts=7))])

    assert log.rows == row
    assert len(log.runs) == said


def test_a_second_end_of_a_run_retired_long_ago_is_passed_on_but_teaches_nothing() -> None:
    log = Log()
    log.history(20, inserts=100)
    before = log.row.baselines.copy()

    log.append(ended("past-0", NOON, inserts=9_999_999))

    assert log.row.baselines == before
    assert log.newest("past-0").inserts == 9_999_999
    assert log.anomalies == []


def test_the_row_stays_small_however_many_runs_there_were() -> None:
    log = Log()
    log.history(100, inserts=100, updates=5, deletes=1, total_rows=500)
    size = len(log.rows[b"orders_daily"])

    log.history(100, until=NOON + timedelta(days=5), inserts=100, updates=5, deletes=1, total_rows=500)

    assert len(log.row.ended) == 8
    assert len(log.rows[b"orders_daily"]) < size + 512
    assert len(log.rows[b"orders_daily"]) < 8 * 1024


def test_labels_of_start_and_end_travel_apart_so_that_the_end_wins() -> None:
    log = Log()

    log.append(started("a", labels={"x": "1", "y": "1"}), ended("a", LATER, labels={"x": "2"}))

    assert log.newest("a").labels_started == {"x": "1", "y": "1"}
    assert log.newest("a").labels_ended == {"x": "2"}


def test_a_child_keeps_its_parent() -> None:
    log = Log()

    log.append(started("child", parent_run_id=identity("mother")), ended("child", LATER))

    assert log.newest("child").parent_run_id == identity("mother")
