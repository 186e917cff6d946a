"""I1, I2, I9, I13: nothing is lost, nothing counts twice, nothing depends on the order, what is bad is kept whole."""

from __future__ import annotations

from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from aiokafka import TopicPartition

from faults.invariants.violations import Violation, found

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a dead record lay in the log."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Letter:
    """What must be kept of a dead record, byte for byte."""

    reason: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """What became of the `offsets` of one source partition; `events` counts repeated ones too."""

    offsets: int
    events: int
    pulses: int
    misplaced: int
    dead: int


def conservation(
    acked: Collection[K], unknown: Container[K], stored: Iterable[K], dead: Iterable[K] = ()
) -> list[Violation]:
    """I1: what was acknowledged is stored or set aside; what nobody sent is not there. `unknown` may be there."""
    missing, invented = set(acked), []
    for where, identities in (("stored", stored), ("dead letter", dead)):
        for identity in identities:
            if identity in missing:
                missing.discard(identity)
            elif identity not in acked and identity not in unknown:
                invented.append(f"{where}, and never sent: {identity}")
    return found("I1", [*(f"acknowledged, and lost: {identity}" for identity in missing), *invented])


def one_effect(expected: Mapping[K, V], stored: Iterable[tuple[K, V]], *, of: str = "row") -> list[Violation]:
    """I2: exactly the rows of the oracle, each once. For very many rows give `hash(row)` on both sides."""
    return found("I2", _differences(expected, stored, of))


def order_independent(one: Mapping[K, V], other: Iterable[tuple[K, V]], *, of: str = "row") -> list[Violation]:
    """I13: a log and any permutation and repetition of it end in the same rows."""
    return found("I13", _differences(one, other, of))


def dead_letters_whole(expected: Mapping[Origin, Letter], stored: Iterable[tuple[Origin, Letter]]) -> list[Violation]:
    """I9: one letter for each bad record, with reason, key, bytes and headers as they were."""
    return found("I9", _differences(expected, stored, "dead letter"))


def accounted(accounts: Mapping[TopicPartition, Account]) -> list[Violation]:
    """I9: every offset of the log is an event, a pulse, a record sent home or a dead letter, and only one of them."""
    return found(
        "I9",
        (
            f"{place.topic}/{place.partition}: {one}"
            for place, one in accounts.items()
            if one.events + one.pulses + one.misplaced + one.dead != one.offsets
        ),
    )


def _differences(expected: Mapping[K, V], stored: Iterable[tuple[K, V]], of: str) -> Iterator[str]:
    seen: set[K] = set()
    for identity, row in stored:
        if identity in seen:
            yield f"{of} {identity} is there twice"
        elif identity not in expected:
            yield f"{of} {identity} should not be there: {row}"
        elif expected[identity] != row:
            yield f"{of} {identity} is {row}, and should be {expected[identity]}"
        seen.add(identity)
    yield from (f"{of} {identity} is missing" for identity in expected if identity not in seen)
