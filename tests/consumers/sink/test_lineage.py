"""What analysts see of lineage: always that of the newest declarations, whatever the graph looks like."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from security.logins import login
from sinking.lineage import REACHED, Edge, pipeline, pipelines, reached, walked
from sinking.records import after, declared
from sinking.tables import Sinking
from stack.contents import rows
from watchline.consumers.roles import READER

BOTH = ("downstream", "upstream")


async def test_a_shortest_path_is_found_in_both_directions(sinking: Sinking) -> None:
    await sinking.store(*pipelines([("raw", "clean"), ("clean", "orders"), ("orders", "report"), ("raw", "orders")]))

    assert await reached(sinking, "raw") == {
        "clean": (1, ["raw", "clean"]),
        "orders": (1, ["raw", "orders"]),
        "report": (2, ["raw", "orders", "report"]),
    }
    assert await reached(sinking, "report", "upstream") == {
        "orders": (1, ["report", "orders"]),
        "clean": (2, ["report", "orders", "clean"]),
        "raw": (2, ["report", "orders", "raw"]),
    }


async def test_the_paths_are_right_after_every_declaration(sinking: Sinking) -> None:
    await sinking.store(pipeline("p", ["a"], ["b"], revision=1))
    first = await reached(sinking, "a")
    await sinking.store(pipeline("q", ["b"], ["c"], revision=2))
    longer = await reached(sinking, "a")
    await sinking.store(pipeline("p", ["x"], ["b"], revision=3))
    dropped = await reached(sinking, "a")
    moved = await reached(sinking, "c", "upstream")
    await sinking.store(pipeline("q", ["b"], [], revision=4))

    assert sorted(first) == ["b"]
    assert sorted(longer) == ["b", "c"]
    assert dropped == {}
    assert sorted(moved) == ["b", "x"]
    assert sorted(await reached(sinking, "x")) == ["b"]


async def test_an_edge_of_two_pipelines_lasts_until_both_have_dropped_it(sinking: Sinking) -> None:
    edges = "select pipeline, source, target from reporting.lineage order by pipeline"
    await sinking.store(pipeline("p", ["a"], ["b"]), pipeline("q", ["a"], ["b"], revision=2))
    shared = [tuple(row) for row in await sinking.connection.fetch(edges)]
    once = await reached(sinking, "a")
    await sinking.store(pipeline("p", [], [], revision=3))
    one_left = await reached(sinking, "a")
    await sinking.store(pipeline("q", [], ["b"], revision=4))

    assert shared == [("p", "a", "b"), ("q", "a", "b")]
    assert once == one_left == {"b": (1, ["a", "b"])}
    assert await reached(sinking, "a") == {}
    assert await sinking.connection.fetch(edges) == []


@pytest.mark.parametrize("direction", BOTH)
@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([("a", "a")], id="only itself"),
        pytest.param([("a", "a"), ("a", "b"), ("b", "b")], id="itself on the way"),
        pytest.param([("a", "b"), ("b", "a")], id="two in a circle"),
        pytest.param([("z", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], id="a circle on the way"),
        pytest.param([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")], id="a diamond"),
    ],
)
async def test_circles_and_diamonds_reach_each_dataset_once(
    sinking: Sinking, edges: list[Edge], direction: str
) -> None:
    await sinking.store(*pipelines(edges))

    for dataset in {name for edge in edges for name in edge}:
        assert await reached(sinking, dataset, direction) == walked(edges, dataset, direction)


async def test_fifty_diamonds_in_a_row_have_one_path_each(sinking: Sinking) -> None:
    edges = [
        edge
        for step in range(50)
        for side in "ab"
        for edge in ((f"{step:02}", f"{step:02}{side}"), (f"{step:02}{side}", f"{step + 1:02}"))
    ]
    await sinking.store(*pipelines(edges))

    assert await reached(sinking, "00") == walked(edges, "00")
    assert await reached(sinking, "50", "upstream") == walked(edges, "50", "upstream")


async def test_a_hundred_datasets_that_all_feed_each_other_are_neighbours(sinking: Sinking) -> None:
    names = [f"{number:03}" for number in range(100)]
    await sinking.store(pipeline("p", names, names))

    for direction in BOTH:
        assert await reached(sinking, "050", direction) == {name: (1, ["050", name]) for name in names if name != "050"}


async def test_a_chain_of_a_thousand_is_walked_to_both_ends(sinking: Sinking) -> None:
    names = [f"{number:04}" for number in range(1000)]
    await sinking.store(*pipelines(pairwise(names)))

    down, up = await reached(sinking, names[0]), await reached(sinking, names[-1], "upstream")

    assert (len(down), down[names[-1]]) == (999, (999, names))
    assert (len(up), up[names[0]]) == (999, (999, names[::-1]))
    assert sorted(await reached(sinking, names[990])) == names[991:]


async def test_a_fan_of_ten_thousand_is_walked_from_both_sides(sinking: Sinking) -> None:
    names = [f"{number:05}" for number in range(10_000)]
    await sinking.store(pipeline("out", ["first"], names), pipeline("in", names, ["last"], revision=2))

    down = await reached(sinking, "first")

    assert len(down) == 10_001
    assert down["last"] == (2, ["first", "00000", "last"])
    assert sorted(await reached(sinking, "last", "upstream")) == [*names, "first"]
    assert await reached(sinking, "04711", "upstream") == {"first": (1, ["04711", "first"])}


async def test_random_graphs_agree_with_a_walk_after_every_change(sinking: Sinking) -> None:
    chance = random.Random(3)
    names = list("abcdefghij")
    declarations: dict[str, list[Edge]] = {}
    for revision in range(1, 25):
        name = chance.choice("pqrstu")
        sources, targets = chance.sample(names, chance.randint(0, 3)), chance.sample(names, chance.randint(0, 3))
        declarations[name] = [(source, target) for source in sources for target in targets]
        await sinking.store(pipeline(name, sources, targets, revision=revision))

        edges = [edge for some in declarations.values() for edge in some]
        everything = await sinking.connection.fetch(
            "select dataset, direction, reached, path from reporting.lineage_paths"
        )
        assert sorted(map(tuple, everything)) == sorted(
            (dataset, direction, reached, path)
            for dataset in names
            for direction in BOTH
            for reached, (_, path) in walked(edges, dataset, direction).items()
        )


async def test_datasets_of_equal_name_stay_apart(sinking: Sinking) -> None:
    lake = {"name": "orders", "type": "s3", "group": "lake"}
    await sinking.store(declared("p", sources=[lake], targets=[{"name": "orders"}]))

    [row] = await sinking.connection.fetch(
        "select * from reporting.lineage_paths where dataset = 'orders' and direction = 'downstream'"
    )

    assert tuple(row) == (
        "orders", "s3", "lake", "downstream", "orders", "table", "database", 1, ["orders", "orders"]
    )  # fmt: skip


async def test_an_edge_says_what_it_joins_and_whose_it_is(sinking: Sinking) -> None:
    await sinking.store(declared())

    [row] = await sinking.connection.fetch("select * from reporting.lineage")

    assert list(row.values()) == [
        *("orders_daily", "extraction", "sales"),
        *("shop.orders", "postgres", "database"),
        *("orders", "snowflake", "warehouse"),
        after(),
    ]


async def test_a_dataset_names_its_readers_and_writers_without_any_edge(sinking: Sinking) -> None:
    await sinking.store(
        pipeline("report", ["a", "a", "b"], [], revision=1),
        pipeline("load", [], ["a"], revision=2),
        pipeline("copy", ["a"], ["b"], revision=3),
        pipeline("old", ["b"], ["c"], revision=4),
    )
    await sinking.store(pipeline("old", [], [], revision=5))

    found = await sinking.connection.fetch(
        "select dataset, readers, writers, first_declared_at, last_declared_at from reporting.datasets order by dataset"
    )

    assert [tuple(row) for row in found] == [
        ("a", ["copy", "report"], ["load"], after(seconds=1), after(seconds=3)),
        ("b", ["report"], ["copy"], after(seconds=1), after(seconds=4)),
        ("c", [], [], after(seconds=4), after(seconds=4)),
    ]


async def test_a_filter_by_dataset_and_direction_reads_edges_by_their_index_only(sinking: Sinking) -> None:
    await sinking.store(pipeline("p", [f"s{number}" for number in range(50)], [f"t{number}" for number in range(50)]))

    plan = await sinking.connection.fetch("explain " + REACHED.replace("$1", "'s7'").replace("$2", "'downstream'"))

    text = "\n".join(row[0] for row in plan)
    assert "lineage_edges_source" in text
    assert "lineage_edges_target" not in text
    assert "Seq Scan on lineage_edges" not in text


async def test_a_reader_may_ask_for_all_of_it(sinking: Sinking) -> None:
    await sinking.store(declared(), declared(revision=2, owner="it"))

    async with login(sinking.dsn, READER) as dsn:
        found = {
            view: await rows(dsn, f"select count(*) from reporting.{view}")
            for view in ("datasets", "lineage", "lineage_paths", "pipeline_versions", "pipeline_changes")
        }

    assert {view: count for view, [(count,)] in found.items()} == {
        "datasets": 2, "lineage": 1, "lineage_paths": 2, "pipeline_versions": 2, "pipeline_changes": 1
    }  # fmt: skip
