"""reporting.run_tree and the root of a run: what started what, at any depth."""

from __future__ import annotations

import asyncpg

from filling.rows import march, run, shown
from sinking.records import name_id
from watchline.consumers.sink.ancestry import store_ancestry

#     top        alone
#      |
#    middle
#    |    |
#   leaf  twig
PARENTS = {"top": None, "middle": "top", "leaf": "middle", "twig": "middle", "alone": None}
NAMES = {name_id(name): name for name in (*PARENTS, "unheard", "orphan")}


async def fill(connection: asyncpg.Connection, parents: dict[str, str | None]) -> None:
    """Runs and their ancestry, which the sink keeps up."""
    for name, parent in parents.items():
        await run(connection, None, None, run_id=name_id(name), parent_run_id=parent and name_id(parent))
    await store_ancestry(connection, {(name_id(name), name_id(parent)) for name, parent in parents.items() if parent})


async def test_three_deep_every_run_knows_all_above_and_below_it(connection: asyncpg.Connection) -> None:
    await fill(connection, PARENTS)

    rows = await shown(connection, "run_tree", "run_id, relation, related_run_id, depth")

    found = {(NAMES[run], relation, NAMES[related], depth) for run, relation, related, depth in rows}
    assert len(rows) == len(found)
    assert {each for each in found if each[0] in ("top", "middle", "leaf", "alone")} == {
        ("top", "self", "top", 0),
        ("top", "descendant", "middle", 1),
        ("top", "descendant", "leaf", 2),
        ("top", "descendant", "twig", 2),
        ("middle", "ancestor", "top", 1),
        ("middle", "self", "middle", 0),
        ("middle", "descendant", "leaf", 1),
        ("middle", "descendant", "twig", 1),
        ("leaf", "ancestor", "top", 2),
        ("leaf", "ancestor", "middle", 1),
        ("leaf", "self", "leaf", 0),
        ("alone", "self", "alone", 0),
    }


async def test_the_root_of_a_run_is_at_the_top_or_the_run_itself(connection: asyncpg.Connection) -> None:
    await fill(connection, PARENTS)

    rows = await shown(connection, "runs", "run_id, root_run_id")

    roots = {NAMES[run]: NAMES[root] for run, root in rows}
    assert roots == {"top": "top", "middle": "top", "leaf": "top", "twig": "top", "alone": "alone"}


async def test_a_parent_that_was_never_heard_of_is_the_root_and_has_no_facts(connection: asyncpg.Connection) -> None:
    await fill(connection, {"orphan": "unheard"})

    assert await shown(connection, "runs", "root_run_id") == [(name_id("unheard"),)]
    assert await shown(
        connection, "run_tree", "related_run_id, related_pipeline, related_status", "relation = 'ancestor'"
    ) == [(name_id("unheard"), None, None)]


async def test_a_family_says_how_each_of_it_went(connection: asyncpg.Connection) -> None:
    await fill(connection, PARENTS)
    await connection.execute(
        "update runs set status = 'failed', started_at = $2, ended_at = $3, duration_seconds = 3600 where run_id = $1",
        name_id("leaf"), march(4, 12), march(4, 13),
    )  # fmt: skip

    found = await shown(
        connection,
        "run_tree",
        "related_pipeline, related_status, related_started_at, related_ended_at, related_duration_seconds",
        f"run_id = '{name_id('top')}' and related_run_id = '{name_id('leaf')}'",
    )

    assert found == [("orders", "failed", march(4, 12), march(4, 13), 3600)]
