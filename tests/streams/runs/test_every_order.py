"""Any order and any repetition of the events of a run, in any batches, give the same run in the end."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from folds.log import Log
from folds.stories import names_attempts_or_not, run_events, thoroughly
from watchline.consumers.sink.merging import merge_runs
from watchline.consumers.sink.run_rows import RunRow, decode
from watchline.schemas import encode_record
from watchline.streams.runs.fold import RunsEvent
from watchline.streams.runs.records import KEPT_WATERMARK


def is_short(event: RunsEvent) -> bool:
    """Whether the row keeps its watermarks: of two too long for it, the one that came last holds."""
    named = (getattr(event, name, None) or "" for name in ("watermark", "next_watermark"))
    return max(map(len, named)) <= KEPT_WATERMARK


events_of_one_run = st.lists(run_events(1).filter(is_short), min_size=1, max_size=6).filter(names_attempts_or_not)
orders = st.lists(st.integers(0, 5), max_size=8)


def final(log: Log) -> dict[str, Any]:
    """The run as the sink has it at last, but for its revision and for the verdicts, which hold what was known then."""
    rows = [row for row in map(decode, map(encode_record, log.runs)) if isinstance(row, RunRow)]
    assert len(rows) == len(log.runs)
    for row in merge_runs(rows):
        return msgspec.structs.asdict(row) | {
            "revision": None, "anomalous": None, "overdue": None,
            # A contradiction that a later event resolves leaves its flag in the sink, as no flags overwrite none there.
            "flags": sorted({*row.flags} - {"negative_duration"}),
            "labels": (row.labels_started or {}) | (row.labels_ended or {}),
            "metadata": (row.metadata_started or {}) | (row.metadata_ended or {}),
            "labels_started": None, "labels_ended": None, "metadata_started": None, "metadata_ended": None,
        }  # fmt: skip
    return {}


@thoroughly
@given(events_of_one_run, orders, st.randoms(use_true_random=False), st.integers(1, 6))
def test_the_sink_ends_with_the_same_run(events: list[RunsEvent], again: list[int], shuffle: Random, size: int) -> None:
    once, often = Log(), Log()
    once.append(*events)
    shuffled = [*events, *(events[n % len(events)] for n in again)]
    shuffle.shuffle(shuffled)

    for at in range(0, len(shuffled), size):
        often.append(*shuffled[at : at + size])

    assert final(often) == final(once)
