"""What is on its way: since when by the monotonic clock, and how long that took in the end."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


@dataclass
class Arrivals(Generic[Thing]):
    """Seconds from `leave` to `arrive` of everything that counted; the clock is that of this process."""

    seconds: list[float] = field(default_factory=list)
    _left: dict[Thing, tuple[float, bool]] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Thing]:
        """What has left and not arrived, the oldest first."""
        return list(self._left)

    def leave(self, thing: Thing, *, counts: bool) -> None:
        """`thing` sets out now; in the warm-up it does not count."""
        self._left[thing] = (time.monotonic(), counts)

    def arrive(self, things: Iterable[Thing], at: float) -> None:
        """All of them are there at `at`; again, or without having left, means nothing."""
        for thing in things:
            left, counts = self._left.pop(thing, (at, False))
            if counts:
                self.seconds.append(at - left)
