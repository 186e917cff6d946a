"""What people say about verdicts, and what the detector makes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from folds.log import NOON, Log, answered, ended, identity
from watchline.schemas import FeedbackGiven
from watchline.streams.detection import Baseline, unpack
from watchline.streams.runs.answers import KEPT_FLAGGED

HOUR = timedelta(hours=1)


def seasoned() -> Log:
    log = Log()
    log.history(40, inserts=1000)
    return log


def run(log: Log, n: int, inserts: int) -> None:
    at = NOON + n * HOUR
    log.append(ended(n, at, duration_ms=60_000, inserts=inserts), now=at)


def tell(log: Log, run: object, verdict: str, **fields: object) -> FeedbackGiven:
    answer = answered(run, verdict, NOON + HOUR, **fields)
    log.append(answer, now=NOON + 2 * HOUR)
    return answer


def learnt(log: Log) -> Baseline:
    return unpack(log.row.baselines["inserts"])


def flags(log: Log) -> list[str]:
    return [anomaly.metric for anomaly in log.anomalies]


@pytest.mark.parametrize(
    ("verdict", "reason"), [("false_positive", "manual"), ("expected", "manual"), ("new_normal", "adopted")]
)
def test_an_answer_closes_the_incident_of_its_run(verdict: str, reason: str) -> None:
    log = seasoned()
    run(log, 0, 5000)

    tell(log, 0, verdict, note="Black Friday")

    end = log.incidents[-1]
    assert (end.transition, end.resolve_reason, end.by, end.note) == ("resolved", reason, "ada@etl-1", "Black Friday")
    assert log.row.incidents == []


def test_runs_like_those_that_were_false_positives_are_flagged_less() -> None:
    answered_log, silent = seasoned(), seasoned()
    for n in range(0, 48, 4):
        for log in (answered_log, silent):
            run(log, n, 4000)
            if log is answered_log:
                tell(log, n, "false_positive")
            for more in range(1, 4):
                run(log, n + more, 1000)

    assert len({a.run_id for a in answered_log.anomalies}) < len({a.run_id for a in silent.anomalies})


def test_nothing_is_learnt_of_a_run_that_was_expected_to_be_odd_once() -> None:
    log = seasoned()
    level = learnt(log).level
    run(log, 0, 5000)
    assert learnt(log).level > level

    tell(log, 0, "expected")

    assert learnt(log).level == pytest.approx(level)


def test_a_new_normal_is_normal_at_once() -> None:
    adopted, silent = seasoned(), seasoned()
    for log in (adopted, silent):
        run(log, 0, 4000)
    tell(adopted, 0, "new_normal")
    for log in (adopted, silent):
        for n in range(1, 4):
            run(log, n, 4000)

    assert len({anomaly.run_id for anomaly in adopted.anomalies}) == 1
    assert len({anomaly.run_id for anomaly in silent.anomalies}) > 1


def test_the_same_answer_twice_teaches_once() -> None:
    log = seasoned()
    run(log, 0, 5000)
    tell(log, 0, "false_positive")
    once = log.row.baselines["inserts"]

    tell(log, 0, "false_positive")
    tell(log, 0, "new_normal")

    assert log.row.baselines["inserts"] == once
    assert [(one.outcome, one.detail) for one in log.commands] == [
        ("applied", ""), ("ignored", "it was answered before"), ("ignored", "it was answered before")
    ]  # fmt: skip


def test_an_answer_about_one_metric_leaves_the_others_and_the_incident() -> None:
    log = seasoned()
    log.append(ended("odd", NOON + 3 * HOUR, duration_ms=6_000_000, inserts=1), now=NOON + 3 * HOUR)
    duration = log.row.baselines["duration_seconds"]

    tell(log, "odd", "false_positive", metrics=("inserts",))
    first = list(log.row.incidents)
    tell(log, "odd", "expected")

    assert first
    assert log.row.incidents == []
    assert log.row.baselines["duration_seconds"] != duration
    assert [one.outcome for one in log.commands] == ["applied", "applied"]


def test_an_answer_about_an_earlier_run_leaves_the_incident_that_went_on() -> None:
    log = seasoned()
    run(log, 0, 5000)
    run(log, 1, 6000)

    tell(log, 0, "expected")

    assert len(log.row.incidents) == 1


@pytest.mark.parametrize(
    ("run_id", "metrics", "why"),
    [
        ("gone", (), "the run is none of the last that were flagged"),
        (0, ("deletes",), "these metrics of the run were not flagged"),
    ],
)
def test_an_answer_to_nothing_changes_nothing(run_id: object, metrics: tuple[str, ...], why: str) -> None:
    log = seasoned()
    run(log, 0, 5000)
    before = log.row.baselines

    tell(log, run_id, "new_normal", metrics=metrics)

    assert log.row.baselines == before
    assert (log.commands[0].outcome, log.commands[0].detail) == ("ignored", why)


def test_the_row_keeps_only_the_newest_of_what_can_be_answered() -> None:
    log = seasoned()
    for n in range(3 * KEPT_FLAGGED):
        run(log, n, 10 ** (n % 5 + 4))

    assert len(log.row.flagged) == KEPT_FLAGGED
    assert log.row.flagged[-1].run_id == log.anomalies[-1].run_id.bytes


def test_the_record_of_an_answer_says_what_it_is_about() -> None:
    log = seasoned()
    run(log, 0, 5000)

    answer = tell(log, 0, "false_positive", metrics=("inserts",))

    (record,) = log.commands
    assert (record.event_id, record.run_id, record.verdict) == (answer.event_id, identity(0), "false_positive")
    assert (record.metrics, record.by) == (("inserts",), "ada@etl-1")
