"""Scenario 2: start, end, the start again, and the same end three times more."""

from __future__ import annotations

import msgspec

from folds.log import Log, ended, started
from folds.schedules import MINUTE, utc
from watchline.streams.detection import unpack

TEN = utc("2026-12-01 10:00")
START, END = started("r1", TEN), ended("r1", TEN + 5 * MINUTE, inserts=1000)


def read() -> Log:
    """The run, after thirty ordinary ones."""
    log = Log()
    log.history(30, until=TEN, inserts=1000)
    log.append(START, END)
    return log


def test_the_row_is_that_of_one_start_and_one_end() -> None:
    once, again = read(), read()

    again.append(START)
    for _ in range(3):
        again.append(END)

    ours, theirs = msgspec.structs.asdict(again.row), msgspec.structs.asdict(once.row)
    assert ours | {"offset": None} == theirs | {"offset": None}


def test_the_baseline_grows_by_one_run() -> None:
    log = read()
    known = unpack(log.row.baselines["inserts"]).runs

    log.append(START, END, END, END)

    assert known == 31
    assert unpack(log.row.baselines["inserts"]).runs == known


def test_nothing_is_said_of_a_repetition() -> None:
    log = read()
    said = (len(log.runs), len(log.anomalies), len(log.incidents))

    log.append(START, END, END, END)

    assert (len(log.runs), len(log.anomalies), len(log.incidents)) == said
    assert log.newest("r1").status == "succeeded"
    assert "conflicting_end" not in log.newest("r1").flags
