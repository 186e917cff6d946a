"""What a proxy does to its connections at the moment, and waiting for it to change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Weather:
    """Fair unless changed; belongs to the loop of its proxy."""

    cut: bool = False
    silent: bool = False
    delay: float = 0.0
    limit: int | None = None
    # Of Kafka: (api key, topic or None) of requests held back; api key -> how many answers still to lose, None for all.
    blocked: frozenset[tuple[int, bytes | None]] = frozenset()
    dropping: dict[int, int | None] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self, **fields: Any) -> None:
        """Set fields and wake whoever waits."""
        for name, value in fields.items():
            setattr(self, name, value)
        self._changed.set()
        self._changed = asyncio.Event()

    def clear(self) -> None:
        """Be fair again."""
        self.change(cut=False, silent=False, delay=0.0, limit=None, blocked=frozenset(), dropping={})

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when `condition` holds; it may depend on the weather only."""
        while not condition():
            await self._changed.wait()
