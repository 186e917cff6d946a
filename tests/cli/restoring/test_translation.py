"""A run that comes back from Postgres is judged as it was: by the same values, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folds.log import NOON, PIPELINE, Log, ended, identity, started
from restoring.past import stored
from watchline.cli.restoring.translation import events_of
from watchline.schemas import RunEnded, RunStarted
from watchline.streams.instants import to_micros
from watchline.streams.rows import RunsRow, unpack_run
from watchline.streams.runs.judgement import measures_of
from watchline.streams.runs.merge import begun_at, duration_of, flags_of

micros = st.integers(0, 10**10).map(lambda number: timedelta(microseconds=number))
counts = st.none() | st.integers(0, 2**63 - 1)


def fold(events: Sequence[Any]) -> tuple[Log, RunsRow]:
    log = Log()
    log.append(*events)
    return log, log.row


def judged(row: RunsRow) -> list[Any]:
    """What the one run that ended was judged by."""
    run = unpack_run(row.ended[0])
    assert run.end is not None
    return [
        list(measures_of(run, {})), begun_at(run), duration_of(run), run.end.status, run.end.event_id, run.end.ended_at,
        run.backfill, run.judged, flags_of(run), run.end.next_watermark, run.watermark, run.parent_run_id,
        run.nominal_at, run.producer_host, run.end.attempt,
    ]  # fmt: skip


@given(took=micros, measured=st.none() | st.integers(0, 10**9), inserts=counts, total_rows=counts)
def test_the_values_of_a_run_come_back_to_the_last_bit(
    took: timedelta, measured: int | None, inserts: int | None, total_rows: int | None
) -> None:
    lived = [
        started("a", NOON, attempt=1),
        ended("a", NOON + took, duration_ms=measured, inserts=inserts, total_rows=total_rows, attempt=1),
    ]
    log, row = fold(lived)

    _, again = fold(list(events_of(PIPELINE, stored(log.newest("a")))))

    assert judged(again) == judged(row)
    assert again.baselines == row.baselines


LIVES: dict[str, Sequence[RunStarted | RunEnded]] = {
    "an end alone": [ended("a", duration_ms=61_000, inserts=5)],
    "an end that tells its start": [ended("a", started_at=NOON - timedelta(microseconds=7), inserts=5)],
    "an end before its start": [started("a", NOON + timedelta(hours=1)), ended("a", NOON, attempt=1, duration_ms=5)],
    "a failure": [
        started("a", NOON - timedelta(seconds=5), attempt=1),
        ended("a", status="failed", attempt=1, error={"type": "E", "message": "boom"}),
    ],
    "a backfill": [started("a", NOON, backfill=True, attempt=1), ended("a", attempt=1, inserts=5)],
    "a start with everything": [
        started(
            "a", NOON - timedelta(seconds=5), attempt=1, parent_run_id=identity("mother"), watermark="1",
            nominal_at=NOON - timedelta(hours=1), heartbeat_seconds=30.5, producer={"host": "etl-1"},
        ),
        ended("a", attempt=1, next_watermark="2", metrics={"null_share": 0.1, "other": 1e300}),
    ],
    "a second attempt, measured": [
        started("a", NOON - timedelta(hours=1), attempt=1),
        started("a", NOON - timedelta(seconds=9), attempt=2),
        ended("a", attempt=2, duration_ms=8_000, inserts=5),
    ],
    "a second attempt, from its start": [
        started("a", NOON - timedelta(hours=1), attempt=1),
        started("a", NOON - timedelta(microseconds=9_000_001), attempt=2),
        ended("a", attempt=2, inserts=5),
    ],
    "a second attempt of unknown length": [
        started("a", NOON - timedelta(hours=1), attempt=1),
        ended("a", attempt=2, inserts=5),
    ],
    "a clock that ran ahead": [started("a", attempt=1), ended("a", attempt=1, inserts=5, flags=("clock_skew",))],
    "an odd status": [started("a", attempt=1), ended("a", attempt=1, status="unknown")],
}  # fmt: skip


@pytest.mark.parametrize("life", LIVES)
def test_a_life_comes_back_as_it_was_judged(life: str) -> None:
    log, row = fold(LIVES[life])

    told = list(events_of(PIPELINE, stored(log.newest("a"))))

    _, again = fold(told)
    assert judged(again) == judged(row)
    assert again.baselines == row.baselines
    assert (again.newest_outcome, again.last_change_at) == (row.newest_outcome, row.last_change_at)


def test_a_run_that_goes_on_comes_back_open_with_its_last_sign_of_life() -> None:
    log, _ = fold([started("a", attempt=2, heartbeat_seconds=60, next_watermark="2")])
    record = log.newest("a").model_copy(update={"last_heartbeat_at": NOON + timedelta(minutes=3)})

    _, again = fold(list(events_of(PIPELINE, stored(record))))

    (run,) = again.open
    assert (run.attempt, run.heartbeat_seconds, run.next_watermark) == (2, 60.0, "2")
    assert run.last_heartbeat_at == to_micros(NOON + timedelta(minutes=3))


def test_a_run_whose_end_the_log_has_comes_back_open() -> None:
    log, _ = fold([started("a"), ended("a", NOON + timedelta(seconds=5), inserts=5)])

    again, row = fold(list(events_of(PIPELINE, stored(log.newest("a"), ends=False))))

    assert [run.started_at is not None for run in row.open] == [True]
    assert (row.ended, row.baselines) == ([], {})
    again.append(ended("a", NOON + timedelta(seconds=5), inserts=5))
    assert again.row.baselines.keys() == {"duration_seconds", "inserts", "throughput"}
