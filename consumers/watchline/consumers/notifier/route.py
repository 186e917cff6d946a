"""The channels of a destination in the order in which they are tried, and when each may be used again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from watchline.consumers.backoff import backoff
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.channel import Channel, Outcome

BROKEN_SECONDS = 600.0  # then one message tries whether somebody has mended the channel
MAX_PARKED = 30.0
MAX_DELAY = 300.0

PARKED = Outcome("retry", detail="every channel is parked")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer of one channel."""

    channel: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message; no attempts when every channel was parked. `wait` is in seconds."""

    attempts: tuple[Attempt, ...]
    wait: float

    @property
    def last(self) -> Outcome:
        return self.attempts[-1].outcome if self.attempts else PARKED

    @property
    def is_in_doubt(self) -> bool:
        """Whether a channel may have accepted the message without our knowing."""
        return any(attempt.outcome.unknown for attempt in self.attempts)


@dataclass(slots=True)
class Line:
    """A channel and when it may be used; destinations that share a channel share its line."""

    channel: Channel
    ready_at: float = 0.0
    broken_until: float = 0.0
    failures: int = 0


class Route:
    """Sends over the first channel that isn't broken, keeps the pace of each, leaves a parked one alone."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        messages_per_second: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._lines = list(lines)
        self._pace = 1.0 / messages_per_second
        self._clock = clock
        self._chance = chance

    @property
    def edits(self) -> bool:
        """Whether its first channel can change what it has posted."""
        return self._lines[0].channel.edits

    def ready_in(self) -> float:
        """Seconds until a message may be sent; claiming alerts before that would only hold them."""
        now = self._clock()
        if usable := self._usable(now):
            return max(0.0, usable[0].ready_at - now)
        return max(0.0, min(line.broken_until for line in self._lines) - now)

    @property
    def pace(self) -> float:
        """Seconds between two messages of a channel in good order."""
        return self._pace

    async def send(self, message: Message, *, last_chance: bool = False) -> Delivery:
        """Try channels until one accepts or says later; at the last chance try the next after a later."""
        attempts: list[Attempt] = []
        wait = 0.0
        for line in self._usable(self._clock()):
            if (parked := line.ready_at - self._clock()) > 0:
                return Delivery(tuple(attempts), parked)
            outcome = await line.channel.send(message)
            attempts.append(Attempt(line.channel.name, outcome))
            wait = self._note(line, outcome, message)
            later = outcome.result == "retry" and not outcome.broken
            if outcome.result == "accepted" or (later and not last_chance):
                break
        return Delivery(tuple(attempts), wait)

    def _usable(self, now: float) -> list[Line]:
        return [line for line in self._lines if line.broken_until <= now]

    def _note(self, line: Line, outcome: Outcome, message: Message) -> float:
        """Park the channel as its answer demands; returns how long this message waits."""
        now = self._clock()
        line.ready_at = now + self._pace
        facts = {"channel": line.channel.name, "status": outcome.http_status, "detail": outcome.detail}
        if outcome.broken:
            line.broken_until = now + BROKEN_SECONDS
            log.error("channel.broken", **facts)
        if outcome.result != "retry":
            line.failures = 0
            return 0.0
        if outcome.broken:
            return BROKEN_SECONDS
        line.failures += 1
        asked = outcome.retry_after
        parked = backoff(line.failures, self._chance(), longest=MAX_PARKED) if asked is None else asked
        line.ready_at = now + max(parked, self._pace)
        log.warning("channel.parked", seconds=round(parked, 1), **facts)
        if asked is not None:
            return parked
        # The message's own delay outgrows the channel's, so one that the server chokes on lets others pass.
        return max(parked, backoff(message.attempts + 1, self._chance(), longest=MAX_DELAY))
