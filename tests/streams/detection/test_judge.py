"""What the detector flags, what it lets pass, and what it says about it."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from watchline.streams.detection import Baseline, Rule, Verdict, judge, pack

Replay = Callable[..., list[Verdict]]
DAY = 86_400
MONDAY = 1_704_074_400
ROWS = Rule(kind="count", min_absolute_change=5.0)
SECONDS = Rule(kind="duration", min_absolute_change=3.0)


def noisy(count: int, level: float = 1000.0, sigma: float = 0.12, seed: int = 7) -> list[float]:
    rng = random.Random(seed)
    return [round(level * math.exp(rng.gauss(0.0, sigma))) for _ in range(count)]


@pytest.mark.parametrize("history", [10, 13, 100, 1000])
@pytest.mark.parametrize("value", [49_990, 45_000, 55_000])
def test_a_constant_metric_never_flags_a_small_move(replay: Replay, history: int, value: float) -> None:
    *_, verdict = replay([50_000] * history + [value])

    assert not verdict.flagged


@pytest.mark.parametrize("history", [13, 30, 300])
def test_a_constant_metric_flags_a_drop_of_two_fifths_from_13_runs_on(replay: Replay, history: int) -> None:
    *_, verdict = replay([50_000] * history + [30_000])

    assert verdict.flagged
    assert verdict.reason == "point"


def test_a_constant_metric_of_10_runs_does_not_yet_flag_a_drop_of_two_fifths(replay: Replay) -> None:
    *_, verdict = replay([50_000] * 10 + [30_000])

    assert not verdict.flagged
    assert not verdict.warming_up


@pytest.mark.parametrize("history", [10, 11, 100])
def test_the_first_zero_flags_as_soon_as_anything_may(replay: Replay, history: int) -> None:
    *_, verdict = replay([50_000] * history + [0])

    assert verdict.reason == "zero"
    assert verdict.expected == pytest.approx(50_000)


@pytest.mark.parametrize("history", range(10))
def test_no_verdict_comes_before_ten_runs(replay: Replay, history: int) -> None:
    *_, verdict = replay([50_000] * history + [0])

    assert verdict.warming_up
    assert not verdict.flagged
    assert (verdict.lower, verdict.upper) == (None, None)
    assert verdict.baseline_runs == history


def test_a_rule_may_ask_for_more_or_fewer_runs(replay: Replay) -> None:
    patient = Rule(kind="count", min_runs=30)
    hasty = Rule(kind="count", min_runs=5, z_limit=2.5)

    assert not replay([50_000] * 29 + [0], patient)[-1].flagged
    assert replay([50_000] * 30 + [0], patient)[-1].flagged
    assert replay([50_000] * 5 + [0], hasty)[-1].flagged


@pytest.mark.parametrize(("direction", "low", "high"), [("both", 1, 1), ("low", 1, 0), ("high", 0, 1)])
def test_only_the_wanted_direction_flags(replay: Replay, direction: str, low: bool, high: bool) -> None:
    rule = Rule(kind="count", direction=direction)  # type: ignore[arg-type]  # a parameter
    history = noisy(60)

    assert replay([*history, 100], rule)[-1].flagged == low
    assert replay([*history, 10_000], rule)[-1].flagged == high


def test_the_unwanted_direction_is_learnt_all_the_same(replay: Replay) -> None:
    both, high = Baseline(), Baseline()

    replay([*noisy(60), 100], ROWS, both)
    replay([*noisy(60), 100], Rule(kind="count", min_absolute_change=5.0, direction="high"), high)

    assert pack(both) == pack(high)


def test_a_move_below_the_least_change_is_scored_but_not_flagged(replay: Replay) -> None:
    history = [4.0, 5.0] * 20

    tolerant = replay([*history, 30.0], Rule(kind="duration", min_absolute_change=30.0))[-1]
    strict = replay([*history, 30.0], SECONDS)[-1]

    assert tolerant.score == strict.score > 4
    assert not tolerant.flagged
    assert strict.flagged


def test_static_limits_hold_from_the_first_run_on(replay: Replay) -> None:
    rule = Rule(kind="count", min_value=10, max_value=100)

    reasons = [verdict.reason for verdict in replay([9, 10, 100, 101], rule)]

    assert reasons == ["static", None, None, "static"]


def test_the_limit_of_the_rule_decides(replay: Replay) -> None:
    history = noisy(60)
    score = abs(replay([*history, 550], ROWS)[-1].score)

    above = replay([*history, 550], Rule(kind="count", z_limit=score + 0.01))[-1]
    below = replay([*history, 550], Rule(kind="count", z_limit=score - 0.01))[-1]

    assert not above.flagged
    assert below.flagged


@pytest.mark.parametrize("kind", ["count", "duration", "rate", "custom"])
@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("change", [0.3, 0.9])
def test_the_range_shown_is_where_flagging_begins(replay: Replay, kind: str, scale: str, change: float) -> None:
    rule = Rule(kind=kind, scale=scale, min_relative_change=change)  # type: ignore[arg-type]  # parameters
    edges = replay([*noisy(60), 1000], rule)[-1]
    assert edges.lower is not None
    assert edges.upper is not None

    inside = [replay([*noisy(60), value], rule)[-1] for value in (edges.lower * 1.001, edges.upper * 0.999)]
    outside = [replay([*noisy(60), value], rule)[-1] for value in (edges.lower * 0.999, edges.upper * 1.001)]

    assert [verdict.flagged for verdict in inside] == [False, False]
    assert [verdict.flagged for verdict in outside] == [True, True]


def test_a_flagged_run_is_learnt_but_clipped(replay: Replay) -> None:
    calm, shaken = Baseline(), Baseline()
    replay(noisy(60), ROWS, calm)
    replay(noisy(60), ROWS, shaken)

    (verdict,) = replay([1_000_000], ROWS, shaken)

    assert verdict.flagged
    assert shaken.runs == calm.runs + 1
    assert calm.level < shaken.level < calm.level + 0.05


def test_a_run_that_must_not_teach_leaves_no_trace(replay: Replay) -> None:
    baseline = Baseline()
    replay(noisy(60), ROWS, baseline)
    before = pack(baseline)

    verdict = judge(baseline, ROWS, baseline.last_at + DAY, 0.0, learn=False)

    assert verdict.flagged
    assert verdict.token == b""
    assert pack(baseline) == before


def test_a_first_run_that_must_not_teach_leaves_no_trace() -> None:
    baseline = Baseline()

    verdict = judge(baseline, ROWS, MONDAY, 17.0, learn=False)

    assert verdict.warming_up
    assert pack(baseline) == pack(Baseline())


def test_a_run_older_than_the_newest_one_is_judged_but_not_learnt(replay: Replay) -> None:
    baseline = Baseline()
    replay(noisy(60), ROWS, baseline)
    before = pack(baseline)

    late = judge(baseline, ROWS, MONDAY + 59 * DAY - 1, 0.0)
    untouched = pack(baseline) == before
    same = judge(baseline, ROWS, MONDAY + 59 * DAY, 1000.0)

    assert late.flagged
    assert untouched
    assert (same.baseline_runs, baseline.runs) == (60, 61)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_is_neither_judged_nor_learnt(replay: Replay, value: float) -> None:
    baseline = Baseline()
    replay(noisy(60), ROWS, baseline)
    before = pack(baseline)

    (verdict,) = replay([value], Rule(kind="count", max_value=5.0), baseline)

    assert not verdict.flagged
    assert verdict.expected is None
    assert pack(baseline) == before


def test_a_quiet_sunday_is_expected_once_it_was_seen(replay: Replay) -> None:
    week = [1000.0] * 6 + [300.0]
    noise = noisy(140, level=1.0e6, sigma=0.05)
    history = [week[day % 7] * factor / 1.0e6 for day, factor in enumerate(noise)]

    verdicts = replay(history)

    assert not any(verdict.flagged for verdict in verdicts[70:])
    assert "weekday" in verdicts[-1].seasons
    assert verdicts[-1].expected == pytest.approx(300, rel=0.15)


@pytest.mark.parametrize("late", [0, 900, 1800, 2700])
def test_an_hour_ten_times_as_busy_as_the_others_is_soon_expected(late: int) -> None:
    baseline = Baseline()
    noise = noisy(24 * 60, level=1.0e6, sigma=0.05)
    history = [(1000.0 if run % 24 == 7 else 100.0) * factor / 1.0e6 for run, factor in enumerate(noise)]

    verdicts = [judge(baseline, ROWS, MONDAY + late + run * 3600, value) for run, value in enumerate(history)]

    assert not any(verdict.flagged for verdict in verdicts[24 * 30 :])
    assert "hour" in verdicts[-1].seasons


def test_noise_without_a_calendar_uses_none(replay: Replay) -> None:
    verdicts = replay(noisy(300), step=3600 * 7)

    assert verdicts[-1].seasons == ()


@pytest.mark.parametrize("seed", range(5))
def test_plain_noise_is_hardly_ever_flagged(replay: Replay, seed: int) -> None:
    verdicts = replay(noisy(1000, seed=seed))

    assert sum(verdict.flagged for verdict in verdicts) <= 3


def test_a_negative_metric_is_judged_on_the_linear_scale(replay: Replay) -> None:
    rng = random.Random(3)
    rule = Rule(scale="linear")
    history = [rng.gauss(-20.0, 5.0) for _ in range(60)]

    calm, wild = replay([*history, -24.0], rule)[-1], replay([*history, 40.0], rule)[-1]

    assert not calm.flagged
    assert wild.flagged
    assert wild.expected == pytest.approx(-20.0, abs=3.0)


def test_a_ratio_is_judged_by_how_much_it_changes(replay: Replay) -> None:
    history = [value / 1e5 for value in noisy(60)]  # around 0.01

    *_, verdict = replay([*history, 0.04], Rule(kind="custom"))

    assert verdict.reason == "point"
