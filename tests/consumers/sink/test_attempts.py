"""What becomes of the attempts of a run that others followed."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from sinking.records import after, ended, name_id, started
from sinking.tables import Sinking
from watchline.schemas.records import RunRecord

ATTEMPTS = "select attempt, status, error_message from reporting.run_attempts order by attempt"


def failed(attempt: int, revision: int) -> RunRecord:
    return ended(
        revision=revision, attempt=attempt, status="failed", end_event_id=name_id(f"end {attempt}"),
        ended_at=after(minutes=attempt), error={"type": "E", "message": f"try {attempt}"},
    )  # fmt: skip


HISTORY = [
    started(revision=1),
    failed(1, 2),
    started(revision=3, attempt=2),
    failed(2, 4),
    started(revision=5, attempt=3),
    ended(revision=6, attempt=3, end_event_id=name_id("end 3"), ended_at=after(minutes=3)),
]


async def read(sinking: Sinking) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await sinking.connection.fetch(ATTEMPTS)]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
async def test_every_attempt_of_a_run_stays_to_be_seen(sinking: Sinking, size: int) -> None:
    for at in range(0, len(HISTORY), size):
        await sinking.store(*HISTORY[at : at + size])

    [run] = await sinking.rows("runs")
    assert (run["attempt"], run["status"], run["error_message"]) == (3, "succeeded", None)
    assert await read(sinking) == [(1, "failed", "try 1"), (2, "failed", "try 2"), (3, "succeeded", None)]


async def test_a_new_attempt_takes_the_end_of_the_last_one_from_the_run(sinking: Sinking) -> None:
    await sinking.store(*HISTORY[:2])

    await sinking.store(HISTORY[2])

    [run] = await sinking.rows("runs")
    assert (run["attempt"], run["status"], run["ended_at"], run["metrics"]) == (2, "running", None, "{}")


async def test_the_end_of_an_attempt_that_comes_after_the_next_one_began_does_not_end_the_run(sinking: Sinking) -> None:
    await sinking.store(started(revision=1, attempt=2))

    await sinking.store(failed(1, 2))

    [run] = await sinking.rows("runs")
    assert (run["attempt"], run["status"]) == (2, "running")
    assert await read(sinking) == [(1, "failed", "try 1"), (2, "running", None)]


async def test_attempts_that_are_read_again_are_kept_once(sinking: Sinking) -> None:
    await sinking.store(*HISTORY)
    before = await sinking.connection.fetch("select * from run_attempts order by attempt")

    for first, second in permutations(HISTORY[:4], 2):
        await sinking.store(first, second)

    assert await sinking.connection.fetch("select * from run_attempts order by attempt") == before
