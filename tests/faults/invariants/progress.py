"""I3, I10: nobody commits ahead of what is durable, and everything comes back to life."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition

from faults.invariants.violations import Violation, found

LAG_SECONDS = 30.0
CANARY_SECONDS = 5.0
RESTARTS_A_MINUTE = 1.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was measured after the last fault: seconds until lag 0 and until a canary was stored; restarts in a time."""

    lag_seconds: float
    canary_seconds: float
    restarts: int = 0
    minutes: float = 1.0


def no_commit_ahead(
    who: str, committed: Mapping[TopicPartition, int], durable: Mapping[TopicPartition, int]
) -> list[Violation]:
    """I3: the group was never told more than what is durable; read `committed` first, for `durable` only grows."""
    return found(
        "I3",
        (
            f"{who} has committed {offset} of {place.topic}/{place.partition}, durable is {durable.get(place, 0)}"
            for place, offset in committed.items()
            if offset > durable.get(place, 0)
        ),
    )


def durable_frontier(events: Iterable[tuple[int, bytes]], absorbed: Mapping[bytes, int], end: int) -> int:
    """The offset of the first of a partition's `events` below `end` that its row has not absorbed, else `end`.

    `events` are offset and key in the order of the log; `absorbed` is the source offset in each row of the changelog.
    """
    for offset, key in events:
        if offset >= end:
            break
        if offset > absorbed.get(key, -1):
            return offset
    return end


def alive_again(recovery: Recovery) -> list[Violation]:
    """I10: lag 0 in 30 s after the last fault, a canary from end to end within 5 s, at most a restart a minute."""
    sentences = []
    if not recovery.lag_seconds <= LAG_SECONDS:
        sentences.append(f"lag 0 took {recovery.lag_seconds:.1f} s")
    if not recovery.canary_seconds <= CANARY_SECONDS:
        sentences.append(f"the canary took {recovery.canary_seconds:.1f} s")
    if recovery.restarts > RESTARTS_A_MINUTE * max(recovery.minutes, 1.0):
        sentences.append(f"{recovery.restarts} restarts in {recovery.minutes:.1f} min")
    return found("I10", sentences)
