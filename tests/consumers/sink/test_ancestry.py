"""The closure of parents and children, whatever the order of arrival."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from itertools import permutations
from uuid import UUID

import asyncpg
import pytest

from sinking.records import ended, name_id, started
from sinking.tables import Sinking, waiting_for_locks
from watchline.consumers.sink.ancestry import store_ancestry
from watchline.schemas.records import RunRecord

#      a
#    b   c
#   d e
#   f
PARENTS = {"a": None, "b": "a", "c": "a", "d": "b", "e": "b", "f": "d"}


def family() -> list[RunRecord]:
    return [
        started(name, revision=number, parent_run_id=parent and name_id(parent))
        for number, (name, parent) in enumerate(PARENTS.items(), 1)
    ]


def closure(parents: dict[str, str | None]) -> set[tuple[UUID, UUID, int]]:
    found = set()
    for name, parent in parents.items():
        depth, above = 1, parent
        while above is not None:
            found.add((name_id(name), name_id(above), depth))
            depth, above = depth + 1, parents[above]
    return found


async def ancestry(sinking: Sinking) -> set[tuple[UUID, UUID, int]]:
    rows = await sinking.rows("run_ancestry")
    return {(row["descendant"], row["ancestor"], row["depth"]) for row in rows}


async def test_any_order_of_arrival_gives_the_same_closure(sinking: Sinking) -> None:
    orders = random.Random(7).sample(list(permutations(family())), 25)
    for order in orders:
        cut = len(orders) % 5 + 1
        await sinking.store(*order[:cut])
        for record in order[cut:]:
            await sinking.store(record)

        assert await ancestry(sinking) == closure(PARENTS)
        await sinking.clear()


async def test_a_family_in_one_batch_is_whole(sinking: Sinking) -> None:
    await sinking.store(*reversed(family()))
    await sinking.store(ended("f", revision=99, parent_run_id=name_id("d")))

    assert await ancestry(sinking) == closure(PARENTS)


async def test_a_corrected_parent_moves_everything_below_it(sinking: Sinking) -> None:
    await sinking.store(*family())
    await sinking.store(started("d", revision=50, parent_run_id=name_id("c")))

    assert await ancestry(sinking) == closure(PARENTS | {"d": "c"})


async def test_runs_that_are_each_others_parents_do_not_hang_the_sink(sinking: Sinking) -> None:
    await sinking.store(
        started("x", parent_run_id=name_id("y")),
        started("y", parent_run_id=name_id("x")),
        started("self", parent_run_id=name_id("self")),
    )

    assert await ancestry(sinking) == {(name_id("x"), name_id("y"), 1), (name_id("y"), name_id("x"), 1)}


async def test_two_sinks_that_learn_of_adjoining_edges_at_once_miss_none(sinking: Sinking) -> None:
    """Each transaction sees only its own edge until it commits; the lock makes the second look again."""
    other, watcher = await asyncpg.connect(sinking.dsn), await asyncpg.connect(sinking.dsn)
    try:
        insert = (
            "insert into runs (run_id, pipeline, parent_run_id, status, revision) values ($1, 'p', $2, 'running', 1)"
        )
        child, middle, top = name_id("child"), name_id("middle"), name_id("top")
        first, second = sinking.connection.transaction(), other.transaction()
        await first.start()
        await second.start()
        await sinking.connection.execute(insert, child, middle)
        await other.execute(insert, middle, top)
        await store_ancestry(sinking.connection, {(child, middle)})
        waiting = asyncio.create_task(store_ancestry(other, {(middle, top)}))
        await waiting_for_locks(watcher, 1)
        await first.commit()
        await waiting
        await second.commit()
    finally:
        await other.close()
        await watcher.close()

    assert (child, top, 2) in await ancestry(sinking)


@pytest.mark.parametrize("size", [300])
async def test_a_long_chain_ends_at_a_hundred(sinking: Sinking, size: int) -> None:
    chain = [started(str(n), revision=n + 1, parent_run_id=name_id(str(n - 1))) for n in range(1, size)]
    await sinking.store(*chain)

    depths = await sinking.connection.fetchval("select max(depth) from run_ancestry")
    assert depths == 100


async def test_a_child_that_outlives_its_parent_is_orphaned_after_a_grace(sinking: Sinking) -> None:
    just_now = datetime.now(UTC)
    before = just_now - timedelta(hours=1)
    await sinking.store(ended("long ago", revision=1, ended_at=before))
    await sinking.store(started("left", revision=2, parent_run_id=name_id("long ago")))
    await sinking.store(started("going", revision=3), started("held", revision=4, parent_run_id=name_id("going")))
    await sinking.store(ended("just now", revision=5, ended_at=just_now))
    await sinking.store(started("waiting", revision=6, parent_run_id=name_id("just now")))

    orphans = await sinking.connection.fetch("select run_id from reporting.runs where orphaned")

    assert [run_id for (run_id,) in orphans] == [name_id("left")]


async def test_a_child_that_ended_is_no_orphan(sinking: Sinking) -> None:
    before = datetime.now(UTC) - timedelta(hours=1)
    await sinking.store(ended("long ago", revision=1, ended_at=before))
    await sinking.store(ended("child", revision=2, parent_run_id=name_id("long ago")))

    assert await sinking.connection.fetch("select run_id from reporting.runs where orphaned") == []
