"""Histories to judge: a fixture that replays values, one run a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pytest

from watchline.streams.detection import Baseline, Rule, Verdict, judge

DAY = 86_400
MONDAY = 1_704_074_400  # 2024-01-01 02:00 UTC


class Replay(Protocol):
    def __call__(
        self, values: Iterable[float], rule: Rule = ..., baseline: Baseline | None = ..., *, step: int = ...
    ) -> list[Verdict]: ...


@pytest.fixture
def replay() -> Replay:
    """Judge *values* in order, one every *step* seconds after the newest run learnt."""

    def run(
        values: Iterable[float],
        rule: Rule = Rule(kind="count", min_absolute_change=5.0),  # noqa: B008 - frozen
        baseline: Baseline | None = None,
        *,
        step: int = DAY,
    ) -> list[Verdict]:
        state = Baseline() if baseline is None else baseline
        begin = state.last_at + step if state.runs else MONDAY
        return [judge(state, rule, begin + run * step, value) for run, value in enumerate(values)]

    return run
