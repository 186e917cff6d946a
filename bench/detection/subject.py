"""What is measured: the product's own detector, called as the streams call it."""

from __future__ import annotations

from time import process_time

from bench.detection.history import History, Metric
from bench.detection.scoring import Tally
from watchline.streams.detection import Baseline, judge, rule_for

PRODUCT_METRIC: dict[Metric, str] = {
    "rows": "total_rows",
    "duration": "duration_seconds",
    "throughput": "throughput",
    "deletes": "deletes",
}


def measure(corpus: list[History]) -> Tally:
    """Judge every run of every history by the default rule."""
    tally = Tally()
    for history in corpus:
        began = process_time()
        flags = flags_of(history)
        tally.add(history, flags, process_time() - began)
    return tally


def flags_of(history: History) -> list[bool]:
    """Which runs the default rule flags, in order."""
    rule = rule_for(PRODUCT_METRIC[history.metric], ())
    assert rule is not None
    baseline = Baseline()
    runs = zip(history.starts, history.values, strict=True)
    return [judge(baseline, rule, start, value).flagged for start, value in runs]
