"""Anomalies: every numeric metric of a succeeded run, one incident for all of them."""

from __future__ import annotations

from datetime import timedelta

from folds.log import NOON, Log, ended, identity, started
from watchline.schemas import AnomalyRule, Mute
from watchline.streams.declarations import Declared
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.runs.incidents import Scene
from watchline.streams.runs.judgement import local_seconds

HOUR = timedelta(hours=1)


def seasoned(declared: Declared | None = None) -> Log:
    """A log with thirty ordinary runs."""
    log = Log(declared or Declared())
    log.history(30, inserts=1000, total_rows=5000)
    return log


def test_a_run_far_outside_explains_itself() -> None:
    log = seasoned()

    log.append(ended("odd", NOON, inserts=3, total_rows=5000, duration_ms=60_000))

    (anomaly,) = log.anomalies
    assert (anomaly.metric, anomaly.value, anomaly.baseline_runs) == ("inserts", 3.0, 30)
    assert anomaly.expected is not None
    assert 900 < anomaly.expected < 1100
    assert anomaly.lower is not None
    assert anomaly.lower > 3
    assert anomaly.score < -anomaly.limit
    assert log.newest("odd").anomalous
    assert log.transitions("anomaly") == ["opened"]
    assert log.incidents[0].title == "inserts below the expected range"


def test_several_metrics_of_one_run_are_one_incident() -> None:
    log = seasoned()

    log.append(ended("odd", NOON, inserts=3, total_rows=1, duration_ms=6_000_000))

    assert {anomaly.metric for anomaly in log.anomalies} == {"inserts", "total_rows", "duration_seconds", "throughput"}
    assert log.transitions("anomaly") == ["opened"]
    assert len(log.incidents[0].facts) == 4


def test_flags_three_runs_apart_are_one_incident_and_three_clean_runs_end_it() -> None:
    log = seasoned()

    def run(n: int, inserts: int) -> None:
        log.append(ended(n, NOON + n * HOUR, inserts=inserts, total_rows=5000, duration_ms=60_000))

    for n, inserts in enumerate((3, 1000, 1000, 3, 1000, 1000, 1000)):
        run(n, inserts)

    assert log.transitions("anomaly") == ["opened", "updated", "resolved"]


def test_custom_metrics_are_judged_too() -> None:
    log = Log()
    for n in range(20):
        log.append(ended(n, NOON - (20 - n) * HOUR, metrics={"null_share": 0.02}))

    log.append(ended("odd", NOON, metrics={"null_share": 0.9}))

    assert [anomaly.metric for anomaly in log.anomalies] == ["null_share"]


def test_failed_and_backfill_runs_are_not_judged_and_teach_nothing() -> None:
    log = seasoned()
    before = log.row.baselines.copy()

    log.append(ended("f", NOON, "failed", inserts=0), ended("b", NOON, inserts=0, backfill=True))

    assert log.anomalies == []
    assert log.row.baselines == before


def test_a_run_from_a_clock_ahead_teaches_nothing() -> None:
    log = seasoned()
    before = log.row.baselines.copy()
    end = ended("a", NOON, inserts=1000).model_copy(update={"flags": ("clock_skew",)})

    log.append(end)

    assert log.row.baselines == before


def test_a_mute_records_the_anomaly_and_opens_no_incident() -> None:
    log = seasoned(Declared(mutes=(Mute(check="anomaly"),)))

    log.append(ended("odd", NOON, inserts=3))

    assert [anomaly.muted for anomaly in log.anomalies] == [True]
    assert log.incidents == []


def test_a_rule_can_switch_a_metric_off_and_set_hard_limits() -> None:
    rules = (AnomalyRule(metric="inserts", active=False), AnomalyRule(metric="total_rows", min_value=10))
    log = Log(Declared(rules=rules))

    log.append(ended("first", NOON, inserts=0, total_rows=9))

    assert [(anomaly.metric, anomaly.reason) for anomaly in log.anomalies] == [("total_rows", "static")]


def test_weekdays_are_those_of_the_pipelines_zone() -> None:
    tokyo = Scene("p", Declared(timezone="Asia/Tokyo"), 0, Effects())
    utc = Scene("p", Declared(), 0, Effects())

    assert local_seconds(tokyo, to_micros(NOON)) - local_seconds(utc, to_micros(NOON)) == 9 * 3600


def test_a_level_that_persists_is_adopted_once_and_the_incident_says_so() -> None:
    log = seasoned()

    for n in range(30):
        log.append(ended(f"new-{n}", NOON + n * HOUR, inserts=2500, total_rows=5000, duration_ms=60_000))

    (resolved,) = [it for it in log.incidents if it.transition == "resolved"]
    assert resolved.resolve_reason == "adopted"
    assert any("adopted" in it.title for it in log.incidents)
    assert log.transitions("anomaly").count("opened") == 1


def test_the_same_run_gives_the_same_anomaly_id() -> None:
    first, second = seasoned(), seasoned()

    for log in (first, second):
        log.append(started("odd", NOON), ended("odd", NOON + HOUR, inserts=3))

    assert [a.anomaly_id for a in first.anomalies] == [a.anomaly_id for a in second.anomalies]
    assert first.anomalies[0].run_id == identity("odd")
