"""What is on its way to Kafka, and the account of what became of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

EXPIRED = "heartbeat_expired"


class Rank(IntEnum):
    """Which messages go first when there is no room: heartbeats; ends and watermarks last of all."""

    HEARTBEAT = 0
    START = 1
    END = 2


RANKS = {"run.heartbeat": Rank.HEARTBEAT, "run.ended": Rank.END, "watermark.advanced": Rank.END}


def rank_of(event_type: str) -> Rank:
    """The rank of an event type."""
    return RANKS.get(event_type, Rank.START)


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """One record for Kafka. Two are never equal: each is accounted for by itself."""

    topic: str
    key: bytes
    value: bytes
    rank: Rank

    @property
    def size(self) -> int:
        """Bytes of key and value."""
        return len(self.key) + len(self.value)


@dataclass(frozen=True, slots=True)
class Counters:
    """What became of every event: `emitted = acknowledged + spooled + pending + the sum of dropped`.

    `resent` counts events of earlier processes that this one sent from the outbox; they are not in `emitted`.
    """

    emitted: int = 0
    acknowledged: int = 0
    spooled: int = 0
    pending: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    resent: int = 0

    @property
    def lost(self) -> int:
        """How many events nobody will read, heartbeats that have had their time aside."""
        return self.pending + sum(count for reason, count in self.dropped.items() if reason != EXPIRED)

    def __str__(self) -> str:
        """The account in one line."""
        reasons = "".join(f", {reason} {count}" for reason, count in sorted(self.dropped.items()))
        return (
            f"emitted {self.emitted} = acknowledged {self.acknowledged} + on disk {self.spooled}"
            f" + pending {self.pending} + dropped {sum(self.dropped.values())}{reasons}"
        )


class Rejected(Exception):
    """The broker will never take this message; sending it again will not help."""


Settle = Callable[[Message, Exception | None], None]
"""Called once a message is acknowledged (None), refused for good (Rejected) or not delivered (any other)."""
