"""Any order and any repetition of the events between two pulses, in any batches, give the same slots in the end."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from folds.log import KEY, NOON, Log
from folds.schedules import HOUR, MINUTE, pulses, scheduled, watched
from folds.stories import names_attempts_or_not, run_events, thoroughly
from watchline.schemas.events import Command, RunEnded, RunStarted
from watchline.schemas.flags import CLOCK_SKEW
from watchline.streams.declarations import Declared
from watchline.streams.runs.fold import RunsEvent

JOBS = (
    scheduled("*/20 * * * *", grace_seconds=300),
    scheduled("*/30 * * * *", "Asia/Tokyo", grace_seconds=3600, early_seconds=900),
    scheduled("10 * * * *", early_seconds=0),
)
NEAR = timedelta(hours=3)


def is_plain(event: RunsEvent) -> bool:
    """Whether its times are those of the hours looked at, its clock is right, and its nominal time not ahead."""
    times = [getattr(event, name, None) for name in ("occurred_at", "started_at", "nominal_at")]
    known = [time for time in times if isinstance(time, datetime)]
    nominal = getattr(event, "nominal_at", None) or event.occurred_at
    right = CLOCK_SKEW not in event.flags and nominal <= event.occurred_at
    return right and all(abs(time - NOON) <= NEAR for time in known)


def is_in_time(told: list[RunsEvent]) -> bool:
    """Whether no run ends before it starts: when such a run began is not known, and what comes last decides."""
    starts = [(event.run_id, event.occurred_at) for event in told if isinstance(event, RunStarted)]
    ends = [(event.run_id, event.occurred_at) for event in told if isinstance(event, RunEnded)]
    return all(run != other or at <= end for run, at in starts for other, end in ends)


# What is muted by command is muted from its place in the log on.
events = st.lists(
    run_events(3).filter(lambda event: is_plain(event) and not isinstance(event, Command)), min_size=1, max_size=6
).filter(lambda told: is_in_time(told) and names_attempts_or_not(told))
orders = st.lists(st.integers(0, 5), max_size=8)


def final(log: Log) -> dict[Any, Any]:
    """The slots as the sink has them at last, but for when that was known."""
    same = {"revision": 0, "decided_at": None}
    return {due: slot.model_copy(update=same) for due, slot in log.slots.items()}


@thoroughly
@given(st.sampled_from(JOBS), events, orders, st.randoms(use_true_random=False), st.integers(1, 6))
def test_the_sink_ends_with_the_same_slots(
    declared: Declared, told: list[RunsEvent], again: list[int], shuffle: Random, size: int
) -> None:
    once, often = watched(declared, NOON - NEAR - HOUR), watched(declared, NOON - NEAR - HOUR)
    shuffled = [*told, *(told[n % len(told)] for n in again)]
    shuffle.shuffle(shuffled)

    once.append(*told)
    for at in range(0, len(shuffled), size):
        often.append(*shuffled[at : at + size])
    for log in (once, often):
        pulses(log, NOON - NEAR - HOUR + MINUTE, NOON + NEAR + HOUR, every=3 * MINUTE)

    assert final(often) == final(once)
    assert KEY in once.rows
