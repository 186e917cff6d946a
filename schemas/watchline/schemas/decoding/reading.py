"""What one call of `decode` carries along: the clock, and the flags noted so far."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

Check = Callable[[Any, str, "Reading"], Any]


class Reading:
    """The clock of one decode and what it had to repair."""

    __slots__ = ("flags", "now")

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.flags: list[str] = []

    def note(self, flag: str) -> None:
        """Remember that something was repaired."""
        self.flags.append(flag)

    def noted(self) -> tuple[str, ...]:
        """The flags in an order that does not depend on the order of keys."""
        return tuple(sorted(set(self.flags))) if self.flags else ()
