"""What the other benchmarks answer, read as figures; and which parts are run."""

from __future__ import annotations

import argparse

import pytest

from bench.__main__ import NotMeasured, answer_of, chosen, names_of
from bench.parts import PARTS, read_detection, read_sink, read_streams

ENGINES = {
    "naive": {"cpu_us": 260.0, "cpu_us_min": 250.0, "cpu_us_max": 300.0, "events_per_core_second": 3846},
    "transport": {"cpu_us": 41.0, "cpu_us_min": 9.0, "cpu_us_max": 42.0, "events_per_core_second": 24390},
    "product": {"cpu_us": 65.0, "cpu_us_min": 60.0, "cpu_us_max": 66.0, "events_per_core_second": 15385},
}
TIMES = {"naive": 1.0, "transport": 6.3, "product": 4.0}


def test_streams_are_judged_by_the_median_and_against_the_naive_agent_of_the_same_run() -> None:
    engines = {name: {**found, "times_below_naive": TIMES[name]} for name, found in ENGINES.items()}
    engines["product"]["times_below_naive_product"] = 4.0

    figures = read_streams([{"engines": engines}])

    found = {figure.what: figure for figure in figures}
    assert found["CPU per event, Faust's own part (transport)"].values == (9.0, 41.0, 42.0)
    assert found["CPU per event, Faust's own part (transport)"].verdict == "not met"
    assert found["CPU per event, whole product"].ratio == "4.0x below naive"
    assert found["whole product below the naive agent, same fold"].verdict == "met"
    assert found["whole product, goal"].verdict == "not met"


def test_the_sink_is_compared_with_the_copy_of_its_own_round() -> None:
    answers = [{"plain COPY": copy, "new runs": rows} for copy, rows in [(80e3, 50e3), (100e3, 41e3), (90e3, 39e3)]]

    copy, runs = read_sink(answers)

    assert (copy.verdict, copy.ratio) == ("no budget", "")
    assert (runs.median, runs.ratio, runs.verdict) == (41e3, "43% of COPY", "met")


def test_detection_has_figures_and_no_budget() -> None:
    answer = {"pipebench": {"p": 0.8, "r": 0.7, "f1": 0.75, "false_per_30d": 0.05, "us_per_run": 4.8}}

    figures = read_detection([answer])

    assert {figure.what: figure.median for figure in figures} == {
        "pipebench: F1": 0.75,
        "pipebench: false flags a metric": 0.05,
        "pipebench: verdict": 4.8,
    }
    assert {figure.verdict for figure in figures} == {"no budget"}


def test_a_part_that_needs_a_real_kafka_is_left_out_without_one_and_measured_when_asked_for() -> None:
    assert "restart" not in [part.name for part in chosen(PARTS, None, broker=None)]
    assert "restart" in [part.name for part in chosen(PARTS, None, broker="kafka:9092")]
    assert [part.name for part in chosen(PARTS, ["restart"], broker=None)] == ["restart"]


def test_only_parts_that_can_use_a_broker_are_given_its_address() -> None:
    arguments = {part.name: part.arguments(quick=False, broker="kafka:9092") for part in PARTS}

    given = {name for name, words in arguments.items() if "kafka:9092" in words}

    assert given == {"streams", "latency", "restart"}


def test_an_unknown_part_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no part sinks; there are streams, sink"):
        names_of("streams,sinks")


def test_a_benchmark_that_fails_is_not_measured_and_says_its_last_words() -> None:
    with pytest.raises(NotMeasured, match="ended with code 3\nno broker there"):
        answer_of(["-c", "import sys; print('no broker there', file=sys.stderr); sys.exit(3)"])


def test_a_benchmark_that_says_nothing_is_not_measured() -> None:
    with pytest.raises(NotMeasured):
        answer_of(["-c", "pass"])
