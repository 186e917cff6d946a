"""The state as bytes, and that it can't be made to hold a number that is none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchline.schemas.errors import Misconfigured
from watchline.streams.detection import (
    Baseline,
    Rule,
    Verdict,
    accept_as_normal,
    confirm,
    forgive,
    judge,
    pack,
    unpack,
)

Replay = Callable[..., list[Verdict]]
ROWS = Rule(kind="count", min_absolute_change=5.0)
FEEDBACK = [forgive, confirm, accept_as_normal]

rules = st.builds(
    Rule,
    kind=st.sampled_from(["count", "duration", "rate", "custom"]),
    z_limit=st.floats(2, 10),
    direction=st.sampled_from(["both", "high", "low"]),
    min_runs=st.integers(3, 15),
    min_relative_change=st.sampled_from([0.0, 0.2, 100.0]),
    scale=st.sampled_from(["log", "linear"]),
)
extreme = st.sampled_from([0.0, -0.0, 5e-324, 1e308, -1e308, 1.7976931348623157e308, 1.0, 2.0**63])
values = st.one_of(st.floats(), extreme, st.integers(0, 1000).map(float), st.just(0.0))
# seconds since the run before, value, learnt or not, stored after it or not, and the answer to a flag
steps = st.tuples(st.integers(-3600, 200_000), values, st.booleans(), st.booleans(), st.sampled_from([*FEEDBACK, None]))


def numbers(baseline: Baseline) -> list[float]:
    flat: list[float] = []
    for part in astuple(baseline):
        flat.extend([part] if isinstance(part, (int, float)) else part)
    return flat


@settings(deadline=None)  # the machine may be busy
@given(rules, st.lists(steps, max_size=80))
def test_no_history_brings_nan_or_infinity_into_the_state(
    rule: Rule, history: list[tuple[int, float, bool, bool, Callable[[Baseline, bytes], None] | None]]
) -> None:
    baseline, at = Baseline(), 1_704_067_200

    for gap, value, learn, _, answer in history:
        at += gap
        verdict = judge(baseline, rule, at, value, learn=learn)
        if answer and verdict.token:
            answer(baseline, verdict.token)

        assert all(map(math.isfinite, numbers(baseline)))
        shown = [verdict.score, verdict.expected, verdict.lower, verdict.upper]
        assert all(math.isfinite(figure) for figure in shown if figure is not None)


@settings(deadline=None)  # the machine may be busy
@given(rules, st.lists(steps, max_size=80))
def test_where_the_state_is_stored_changes_no_verdict(
    rule: Rule, history: list[tuple[int, float, bool, bool, Callable[[Baseline, bytes], None] | None]]
) -> None:
    kept, stored, at = Baseline(), Baseline(), 1_704_067_200

    for gap, value, learn, store, answer in history:
        at += gap
        one = judge(kept, rule, at, value, learn=learn)
        other = judge(stored, rule, at, value, learn=learn)
        assert repr(one) == repr(other)
        if answer and one.token:
            answer(kept, one.token)
            answer(stored, other.token)
        if store:
            stored = unpack(pack(stored))
        assert pack(stored) == pack(kept)
        assert stored == kept


def test_a_full_state_fits_in_six_hundred_bytes_and_a_daily_one_in_half(replay: Replay) -> None:
    hourly, daily = Baseline(), Baseline()
    replay([100.0 + run % 24 for run in range(2000)], ROWS, hourly, step=3599)
    replay([100.0 + run % 7 for run in range(400)], ROWS, daily)

    assert all(hourly.hour_seen)
    assert len(pack(hourly)) <= 500
    assert len(pack(daily)) <= 300


def test_visits_that_change_nothing_more_are_not_counted(replay: Replay) -> None:
    baseline = Baseline()

    replay([100.0] * 3000, ROWS, baseline)

    assert max(baseline.weekday_seen) == 24
    assert max(baseline.hour_seen) == 24


@pytest.mark.parametrize("raw", [b"", b"\x00", b"\x02" + bytes(500)])
def test_the_bytes_of_another_version_are_refused(raw: bytes) -> None:
    with pytest.raises(Misconfigured, match="version 1 is expected"):
        unpack(raw)


def test_missing_bytes_are_noticed(replay: Replay) -> None:
    baseline = Baseline()
    replay([100.0] * 60, ROWS, baseline, step=3599)
    raw = pack(baseline)

    for length in range(1, len(raw)):
        with pytest.raises(Misconfigured, match="incomplete"):
            unpack(raw[:length])
