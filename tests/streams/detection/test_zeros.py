"""Zeros: usual for some metrics, alarming for others."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from watchline.streams.detection import Baseline, Rule, Verdict
from watchline.streams.detection.zeros import count, streak_with_zero

Replay = Callable[..., list[Verdict]]
ROWS = Rule(kind="count", min_absolute_change=5.0)


def test_intermittent_zeros_are_not_flagged_once_they_are_usual(replay: Replay) -> None:
    rng = random.Random(5)
    history = [0.0 if rng.random() < 0.35 else float(rng.randint(30, 60)) for _ in range(400)]

    verdicts = replay(history, step=3600)

    assert not any(verdict.flagged for verdict in verdicts[30:] if verdict.value == 0.0)


def test_usual_zeros_do_not_pull_the_level_down(replay: Replay) -> None:
    *_, verdict = replay([0.0 if run % 3 == 0 else 50.0 for run in range(200)])

    assert verdict.expected == pytest.approx(50.0, rel=0.1)


def test_a_streak_of_zeros_that_never_was_flags_in_the_end(replay: Replay) -> None:
    rng = random.Random(5)
    history = [0.0 if rng.random() < 0.1 else float(rng.randint(300, 600)) for _ in range(200)]

    verdicts = replay([*history, *[0.0] * 8], step=3600)

    assert verdicts[-1].reason == "zero"


@pytest.mark.parametrize(("history", "unusual"), [(30, 120), (100, 85)])
def test_deletes_that_never_happened_flag_when_there_are_many(replay: Replay, history: int, unusual: float) -> None:
    few, many = (replay([0.0] * history + [value])[-1] for value in (20.0, unusual))

    assert not few.flagged
    assert many.flagged
    assert many.expected == pytest.approx(0.0)


def test_a_second_zero_is_still_news(replay: Replay) -> None:
    verdicts = replay([1000.0] * 20 + [0.0] + [1000.0] * 10 + [0.0] + [1000.0] * 10 + [0.0])

    assert [verdict.reason for verdict in verdicts if verdict.value == 0.0] == ["zero", "zero", None]


def test_the_streak_is_the_product_of_what_was_counted() -> None:
    baseline = Baseline()
    for zero in [False, False, True, False]:
        count(baseline, zero)

    first = streak_with_zero(baseline)
    baseline.streak = first
    count(baseline, True)
    second = streak_with_zero(baseline)

    assert first == pytest.approx((1 + 0.5) / (3 + 1))
    assert second == pytest.approx(first * 0.5 / (1 + 1))


def test_counts_are_halved_so_that_habits_can_change() -> None:
    baseline = Baseline()

    for _ in range(10_000):
        count(baseline, False)

    assert baseline.after_value_value + baseline.after_value_zero <= 401
