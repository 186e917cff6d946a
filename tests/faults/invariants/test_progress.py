"""Commits, frontiers and recoveries: a good history passes, a bad one does not."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from faults.invariants.progress import Recovery, alive_again, durable_frontier, no_commit_ahead

PLACE, OTHER = TopicPartition("runs", 0), TopicPartition("runs", 1)
EVENTS = [(0, b"a"), (1, b"b"), (3, b"a"), (4, b"b")]  # a pulse is at 2


def test_a_commit_at_what_is_durable_is_not_ahead() -> None:
    assert no_commit_ahead("sink", {PLACE: 7}, {PLACE: 7, OTHER: 9}) == []


def test_a_commit_one_record_ahead_is_seen() -> None:
    (ahead,) = no_commit_ahead("sink", {PLACE: 8}, {PLACE: 7})

    assert str(ahead) == "I3: sink has committed 8 of runs/0, durable is 7"


def test_a_commit_where_nothing_is_durable_is_seen() -> None:
    assert len(no_commit_ahead("sink", {PLACE: 1}, {})) == 1


def test_all_that_was_absorbed_is_durable_to_the_end() -> None:
    assert durable_frontier(EVENTS, {b"a": 3, b"b": 4}, 5) == 5


@pytest.mark.parametrize(("absorbed", "frontier"), [({b"a": 3, b"b": 1}, 4), ({b"a": 3}, 1), ({}, 0)])
def test_the_first_event_that_no_row_has_absorbed_is_the_frontier(absorbed: dict[bytes, int], frontier: int) -> None:
    assert durable_frontier(EVENTS, absorbed, 5) == frontier


def test_what_lies_behind_the_commit_need_not_be_durable() -> None:
    assert durable_frontier(EVENTS, {b"a": 0, b"b": 1}, 3) == 3


def test_a_service_that_is_back_in_time_is_alive() -> None:
    assert alive_again(Recovery(lag_seconds=30.0, canary_seconds=5.0, restarts=6, minutes=6.0)) == []


@pytest.mark.parametrize(
    "recovery",
    [
        Recovery(lag_seconds=30.1, canary_seconds=0.1),
        Recovery(lag_seconds=1.0, canary_seconds=5.1),
        Recovery(lag_seconds=float("nan"), canary_seconds=1.0),
        Recovery(lag_seconds=1.0, canary_seconds=1.0, restarts=3, minutes=2.0),
    ],
)
def test_a_service_that_is_late_or_restarts_too_often_is_not(recovery: Recovery) -> None:
    assert [violation.invariant for violation in alive_again(recovery)] == ["I10"]
