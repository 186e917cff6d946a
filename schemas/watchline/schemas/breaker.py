"""When most records are bad the mistake is elsewhere: a reader stops before it has put everything aside."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from watchline.schemas.errors import WatchlineError

TOLD_REASONS = 3
HINT = (
    "`watchline dead-letters list` shows them. Mend what writes them and start again; to go on as they are, set "
    "WATCHLINE_BREAKER_SHARE=1. What was not read yet waits in Kafka"
)


@dataclass(frozen=True, slots=True)
class Flood:
    """More bad records than a topic may have: how many of its last `window`, and why, the most frequent first."""

    topic: str
    bad: int
    window: int
    reasons: tuple[tuple[str, int], ...]

    def facts(self) -> dict[str, Any]:
        """For a log."""
        return {"topic": self.topic, "bad": self.bad, "window": self.window, "reasons": dict(self.reasons)}

    def error(self) -> WatchlineError:
        """What to stop with."""
        why = ", ".join(f"{reason} {number:,}" for reason, number in self.reasons[:TOLD_REASONS])
        return WatchlineError(
            f"{self.bad:,} of the last {self.window:,} records of {self.topic} are bad: {why}", hint=HINT
        )


class Breaker:
    """Counts the bad ones among the last `window` records of one topic, as one process read them.

    A window that is not full yet counts as if good records had come before, so a handful of bad ones stops nobody.
    `share` 1 never stops.
    """

    def __init__(self, topic: str, *, window: int, share: float) -> None:
        self._topic, self._window, self._limit = topic, window, window * share
        self._seen = 0
        self._bad: deque[tuple[int, str]] = deque()  # number and reason

    def note(self, records: int, bad: Iterable[tuple[int, str]]) -> Flood | None:
        """Count `records` more, of them `bad` (place among them, from 0, and reason); the flood when there is one.

        It is one as soon as more than `share` of a window are bad, even if the batch ends better.
        """
        flood = None
        for place, reason in bad:
            number = self._seen + place
            self._bad.append((number, reason))
            while self._bad[0][0] <= number - self._window:
                self._bad.popleft()
            if flood is None and len(self._bad) > self._limit:
                flood = self._flood()
        self._seen += records
        return flood

    def _flood(self) -> Flood:
        reasons = Counter(reason for _, reason in self._bad)
        return Flood(self._topic, len(self._bad), self._window, tuple(reasons.most_common()))
