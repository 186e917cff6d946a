"""Which agent goes first: what a pipeline declared should hold for the runs that it reports right after."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

POLL_SECONDS = 0.002
PATIENCE_SECONDS = 10.0


class Precedence:
    """Whether the agent that goes first has work: queued, or being finished.

    The topics are read independently, so this narrows a race and can't close it: a declaration that arrives after a
    run has been judged holds from the next run on.
    """

    def __init__(self) -> None:
        self._queue: Any = None
        self._busy = 0

    def watch(self, queue: Any) -> None:
        """Say which queue feeds the agent that goes first."""
        self._queue = queue

    @contextmanager
    def working(self) -> Iterator[None]:
        """Around each batch of the agent that goes first."""
        self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1

    @property
    def idle(self) -> bool:
        return not self._busy and (self._queue is None or self._queue.empty())

    async def wait(self) -> None:
        """Return when the agent that goes first is idle, after ten seconds at the latest."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while not self.idle and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - one is Faust's queue
            await asyncio.sleep(POLL_SECONDS)
