"""How much of its time a sink gives to folding, and what becomes of a fold that fails."""

from __future__ import annotations

import asyncpg
import pytest

from watchline.consumers.sink.folding import FIRST_CELLS, MOST_CELLS, Folding, next_cells, rest
from watchline.schemas.errors import Misconfigured


class Folder:
    """Folds as many cells as it is told to have, or fails."""

    def __init__(self, *, cells: int = 0, error: Exception | None = None) -> None:
        self.cells, self.error = cells, error
        self.asked: list[int] = []
        self.resets = 0

    async def fold(self, cells: int) -> int:
        self.asked.append(cells)
        if self.error is not None:
            raise self.error
        return min(cells, self.cells)

    async def reset(self) -> None:
        self.resets += 1


@pytest.mark.parametrize(("load", "share"), [(1.0, 0.02), (0.5, 0.1), (0.0, 0.34)])
def test_the_fuller_the_batches_the_smaller_the_share_of_folding(load: float, share: float) -> None:
    took = 0.3

    assert took / (took + rest(took, load=load)) <= share


def test_a_fold_that_found_nothing_is_not_repeated_at_once() -> None:
    assert rest(0.0001, load=0) == 0.2


def test_the_next_fold_asks_for_more_while_there_is_more_and_time_for_it() -> None:
    assert next_cells(200, 200, 0.01) == 400
    assert next_cells(200, 150, 0.01) == 200
    assert next_cells(MOST_CELLS, MOST_CELLS, 0.01) == MOST_CELLS


def test_a_fold_that_took_long_is_followed_by_a_smaller_one_but_never_by_none() -> None:
    assert next_cells(400, 400, 0.1) == 200
    assert next_cells(400, 0, 60) == 100
    assert next_cells(1, 1, 60) == 1


async def test_a_fold_rests_before_the_next_one() -> None:
    folder = Folder(cells=MOST_CELLS)
    folding = Folding(folder)

    await folding.fold_when_due(load=1)
    await folding.fold_when_due(load=1)

    assert folder.asked == [FIRST_CELLS]
    assert folding.cells > FIRST_CELLS


@pytest.mark.parametrize(
    "error", [OSError(), TimeoutError(), asyncpg.LockNotAvailableError(), asyncpg.DeadlockDetectedError()]
)
async def test_a_fold_that_fails_for_now_is_left_for_later(error: Exception) -> None:
    folder = Folder(error=error)

    await Folding(folder).fold_when_due(load=1)

    assert folder.resets == 1


@pytest.mark.parametrize(
    "error", [asyncpg.UndefinedFunctionError("no fold_days"), asyncpg.InsufficientPrivilegeError("no")]
)
async def test_a_schema_without_folds_stops_the_sink_and_says_what_to_do(error: Exception) -> None:
    with pytest.raises(Misconfigured) as raised:
        await Folding(Folder(error=error)).fold_when_due(load=0)

    assert "watchline migrate" in str(raised.value.hint)
