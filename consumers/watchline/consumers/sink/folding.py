"""Folding days: what batches marked in `stale_days` is counted into `pipeline_days`, a little at a time.

The views are exact without it, for they compute on the spot what is marked; folding keeps that little.
"""

from __future__ import annotations

import time
from typing import Protocol

import structlog

from watchline.consumers.sink.classification import Decision, classify, sqlstate_of
from watchline.consumers.sink.persistence import hopeless

log = structlog.get_logger(__name__)
FOLD = "select fold_days($1)"
BUSY_REST, IDLE_REST = 25.0, 2.0  # how long to leave it after a fold, in times of what it took
SHORTEST_REST = 0.2
FIRST_CELLS, MOST_CELLS = 200, 5000
TARGET_SECONDS = 0.1  # so long a fold may keep a batch waiting


class Folds(Protocol):
    """What folds: the writer."""

    async def fold(self, cells: int) -> int: ...

    async def reset(self) -> None: ...


class Folding:
    """When to fold and how much, so that it takes a twenty-fifth of a busy sink's time and a third of an idle one's."""

    def __init__(self, writer: Folds) -> None:
        self._writer = writer
        self._cells = FIRST_CELLS
        self._ended = self._took = 0.0

    def is_due(self, now: float, *, busy: bool) -> bool:
        """Whether enough time has gone by at `now`, seconds of the monotonic clock; `busy` is a sink with a backlog."""
        rest = max(SHORTEST_REST, self._took * (BUSY_REST if busy else IDLE_REST))
        return now >= self._ended + rest

    async def fold_when_due(self, *, busy: bool) -> None:
        """Fold some days if it is time; what can't be done now is left for later, and no batch waits for it.

        Raises Misconfigured for what only an operator can mend.
        """
        began, folded = time.monotonic(), 0
        if not self.is_due(began, busy=busy):
            return
        try:
            folded = await self._writer.fold(self._cells)
        except Exception as error:  # asyncpg's errors share no base with each other
            if classify(error) is not Decision.RETRY:
                raise hopeless(error) from error
            await self._writer.reset()  # whether Postgres is away the next batch finds out
            log.warning("fold.postponed", error=type(error).__name__, sqlstate=sqlstate_of(error), cells=self._cells)
        self._ended = time.monotonic()
        self._took = self._ended - began
        self._cells = cells_next(self._cells, folded, self._took)
        if folded:
            log.debug("days.folded", cells=folded, seconds=round(self._took, 4))


def cells_next(cells: int, folded: int, seconds: float) -> int:
    """How many cells to ask for after a fold of `cells` that brought `folded` in `seconds`."""
    if seconds > TARGET_SECONDS:
        return max(1, int(cells * max(TARGET_SECONDS / seconds, 0.25)))
    return min(MOST_CELLS, cells * 2) if folded == cells else cells
