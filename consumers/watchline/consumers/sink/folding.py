"""Folding days: what batches have touched, marked in `stale_days`, is counted into `pipeline_days`, a little at a time.

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
# How long to leave it after a fold, in times of what it took: a sink that catches up gives a fiftieth of its time.
FULL_REST, BUSY_REST, IDLE_REST = 50.0, 10.0, 2.0
SHORTEST_REST = 0.2
FIRST_CELLS, MOST_CELLS = 200, 5000
TARGET_SECONDS = 0.05  # so long a fold may keep a batch waiting
LARGEST_CUT = 0.25


class Folds(Protocol):
    """What folds: the writer."""

    async def fold(self, cells: int) -> int: ...

    async def reset(self) -> None: ...


class Folding:
    """Decides when to fold and how much, by how long the fold before took."""

    def __init__(self, writer: Folds) -> None:
        self._writer = writer
        self.cells = FIRST_CELLS
        self.ended = self.took = 0.0  # by the monotonic clock

    async def fold_when_due(self, *, load: float) -> None:
        """Fold some days if it is time; what can't be done now is left for later, and no batch waits for it.

        `load` is how full the last batch was, 0 to 1. Raises Misconfigured for what only an operator can mend.
        """
        began, folded = time.monotonic(), 0
        if began < self.ended + rest(self.took, load=load):
            return
        try:
            folded = await self._writer.fold(self.cells)
        except Exception as error:  # asyncpg's errors share no base with each other
            if classify(error) is not Decision.RETRY:
                raise hopeless(error) from error
            await self._writer.reset()  # whether Postgres is away the next batch finds out
            log.warning("fold.postponed", error=type(error).__name__, sqlstate=sqlstate_of(error), cells=self.cells)
        self.ended = time.monotonic()
        self.took = self.ended - began
        self.cells = next_cells(self.cells, folded, self.took)


def rest(took: float, *, load: float) -> float:
    """Seconds to leave it after a fold that took so many: the more, the more the sink has to do."""
    times = FULL_REST if load >= 1 else BUSY_REST if load > 0 else IDLE_REST
    return max(SHORTEST_REST, took * times)


def next_cells(cells: int, folded: int, took: float) -> int:
    """How many cells to ask for after a fold of `cells` brought `folded` in `took` seconds."""
    if took > TARGET_SECONDS:
        return max(1, int(cells * max(TARGET_SECONDS / took, LARGEST_CUT)))
    return min(MOST_CELLS, cells * 2) if folded == cells else cells
