"""What an answer to an alert changes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from watchline.streams.detection import Baseline, Rule, Verdict, accept_as_normal, confirm, forgive, pack

Replay = Callable[..., list[Verdict]]
ROWS = Rule(kind="count", min_absolute_change=5.0)


@pytest.fixture
def baseline(replay: Replay) -> Baseline:
    rng = random.Random(7)
    state = Baseline()
    replay([round(1000 * math.exp(rng.gauss(0.0, 0.12))) for _ in range(60)], ROWS, state)
    return state


def test_a_forgiven_run_widens_what_is_normal(replay: Replay, baseline: Baseline) -> None:
    level, spread = baseline.level, baseline.spread
    (flagged,) = replay([5000], ROWS, baseline)
    learnt_level, learnt_spread = baseline.level, baseline.spread

    forgive(baseline, flagged.token)

    assert level < learnt_level < baseline.level
    assert spread < learnt_spread < baseline.spread


def test_runs_like_the_forgiven_ones_are_flagged_no_more(replay: Replay, baseline: Baseline) -> None:
    surprised = 0
    for _ in range(12):
        (verdict,) = replay([4000], ROWS, baseline, step=7 * 86_400)
        surprised += verdict.flagged
        forgive(baseline, verdict.token)
        replay([1000] * 3, ROWS, baseline)

    (verdict,) = replay([4000], ROWS, baseline, step=7 * 86_400)

    assert surprised >= 1
    assert not verdict.flagged


def test_a_forgiven_run_starts_no_shift(replay: Replay, baseline: Baseline) -> None:
    (flagged,) = replay([5000], ROWS, baseline)
    assert baseline.rise > 0

    forgive(baseline, flagged.token)

    assert (baseline.rise, baseline.fall) == (0.0, 0.0)


def test_a_confirmed_run_has_not_moved_the_level(replay: Replay, baseline: Baseline) -> None:
    level = baseline.level
    (flagged,) = replay([5000], ROWS, baseline)

    confirm(baseline, flagged.token)

    assert baseline.level == pytest.approx(level)


def test_a_new_normal_is_the_level_at_once_and_warms_up_again(replay: Replay, baseline: Baseline) -> None:
    (flagged,) = replay([5000], ROWS, baseline)

    accept_as_normal(baseline, flagged.token)
    verdicts = replay([5000] * 10, ROWS, baseline)

    assert [verdict.warming_up for verdict in verdicts] == [True] * 5 + [False] * 5
    assert not any(verdict.flagged for verdict in verdicts)
    assert verdicts[0].expected == pytest.approx(5000, rel=0.1)


def test_a_restart_without_a_run_keeps_the_level(baseline: Baseline) -> None:
    level = baseline.level

    accept_as_normal(baseline)

    assert baseline.level == level
    assert baseline.runs == 5


def test_an_answer_without_a_token_changes_nothing(baseline: Baseline) -> None:
    before = pack(baseline)

    forgive(baseline, b"")
    confirm(baseline, b"")

    assert pack(baseline) == before


def test_a_run_that_is_not_flagged_leaves_no_token(replay: Replay, baseline: Baseline) -> None:
    calm, wild = replay([1000, 5000], ROWS, baseline)

    assert calm.token == b""
    assert len(wild.token) == 35


def test_an_answer_to_a_forgotten_run_leaves_unseen_slots_alone(replay: Replay, baseline: Baseline) -> None:
    (flagged,) = replay([5000], ROWS, baseline)
    fresh = Baseline()

    forgive(fresh, flagged.token)

    assert not any(fresh.weekday)
    assert not any(fresh.hour)


def test_a_run_over_a_static_limit_can_be_answered_too(replay: Replay, baseline: Baseline) -> None:
    (verdict,) = replay([1050], Rule(kind="count", max_value=1049), baseline)

    assert verdict.reason == "static"
    assert len(verdict.token) == 35
