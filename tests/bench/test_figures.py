"""The arithmetic between a measurement and a verdict."""

from __future__ import annotations

import json

import pytest

from bench.figures import Figure, all_of, budget_text, measured_text, percentile, ratio_text, text_of


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.99, 99), (0.991, 100), (1.0, 100)]
)
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(share: float, expected: float) -> None:
    values = [float(number) for number in range(100, 0, -1)]

    assert percentile(values, share) == expected


def test_a_percentile_of_one_value_is_that_value_and_of_none_an_error() -> None:
    assert percentile([7.0], 0.99) == 7.0
    with pytest.raises(ValueError, match="nothing"):
        percentile([], 0.5)


def test_one_slow_value_in_a_hundred_is_beyond_the_99th_percentile_and_two_are_not() -> None:
    assert percentile([1.0] * 99 + [50.0], 0.99) == 1.0
    assert percentile([1.0] * 98 + [50.0] * 2, 0.99) == 50.0


def test_the_median_round_decides_and_not_the_best_one() -> None:
    figure = Figure("latency", "ms", (90.0, 160.0, 170.0), limit=150)

    assert figure.median == 160.0
    assert figure.verdict == "not met"


@pytest.mark.parametrize(
    ("value", "at_least", "verdict"),
    [(10.0, False, "met"), (10.1, False, "not met"), (10.0, True, "met"), (9.9, True, "not met")],
)
def test_a_budget_is_met_at_its_limit_from_the_side_that_is_good(value: float, at_least: bool, verdict: str) -> None:
    assert Figure("it", "s", (value,), limit=10, at_least=at_least).verdict == verdict


def test_a_figure_without_a_budget_has_no_verdict_of_met() -> None:
    figure = Figure("it", "s", (1.0,))

    assert (figure.met, figure.verdict, budget_text(figure), ratio_text(figure)) == (None, "no budget", "", "")


def test_the_ratio_of_the_same_run_is_shown_before_the_share_of_the_budget() -> None:
    assert ratio_text(Figure("it", "s", (5.0,), limit=10)) == "50% of the budget"
    assert ratio_text(Figure("it", "s", (5.0,), limit=10, ratio="2.0x below naive")) == "2.0x below naive"


def test_the_range_is_that_of_the_rounds_and_left_out_for_one() -> None:
    assert measured_text(Figure("it", "ms", (3.0, 1.0, 2.0))) == "2.00 (1.00–3.00) ms"
    assert measured_text(Figure("it", "ms", (3.0,))) == "3.00 ms"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0471, "0.0471"),
        (4.4, "4.40"),
        (9.999, "10.0"),
        (99.4, "99.4"),
        (99.96, "100"),
        (127.4, "127"),
        (57_712.3, "57,712"),
    ],
)
def test_a_figure_is_printed_with_three_digits_that_count(value: float, text: str) -> None:
    assert text_of(value) == text


def test_figures_survive_json() -> None:
    figures = [Figure("rows", "rows/s", (1.0, 2.0), limit=40_000, at_least=True, ratio="67% of COPY")]

    assert all_of(json.loads(json.dumps([figure.as_json() for figure in figures]))) == figures
