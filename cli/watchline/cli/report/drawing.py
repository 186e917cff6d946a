"""What people would rather look at than read: days as a sparkline, lineage as a tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from rich.text import Text
from rich.tree import Tree

from watchline.schemas.printing import printable

BLOCKS = "▁▂▃▄▅▆▇█"
NOTHING = "·"
ARROWS = {"upstream": "◀ reads, directly or not", "downstream": "▶ feeds, directly or not"}


def sparkline(runs: Sequence[int], bad: Sequence[int]) -> Text:
    """A block a day, as high as its runs compared with the busiest; red where some failed, a dot where none ran."""
    most = max(runs, default=0)
    line = Text()
    for count, failed in zip(runs, bad, strict=True):
        block = BLOCKS[max(0, -(-count * len(BLOCKS) // most) - 1)] if count else NOTHING
        line.append(block, "red" if failed else "")
    return line


def tree_of(dataset: str, rows: Sequence[Mapping[str, Any]]) -> list[Tree]:
    """What a dataset is made of and what is made of it, each reached one below the one before it on its path.

    Datasets of the same name have trees of their own, which say their type and group.
    """
    starts = dict.fromkeys((row["dataset_type"], row["dataset_group"]) for row in rows)
    trees = []
    for (direction, title), (kind, group) in product(ARROWS.items(), starts):
        told = (direction, kind, group)
        reached = [row for row in rows if (row["direction"], row["dataset_type"], row["dataset_group"]) == told]
        if reached:
            name = printable(dataset if len(starts) == 1 else f"{dataset} ({kind}, {group})", 200)
            tree = Tree(Text(f"{name} {title}"), guide_style="dim")
            _grow(tree, dataset, reached)
            trees.append(tree)
    return trees


def _grow(tree: Tree, dataset: str, rows: Sequence[Mapping[str, Any]]) -> None:
    branches: dict[tuple[str, ...], Tree] = {(dataset,): tree}
    for row in sorted(rows, key=lambda row: row["depth"]):
        path = tuple(row["path"])
        above = branches.get(path[:-1], tree)
        label = Text(f"{printable(row['reached'], 200)} ").append(f"{row['reached_type']}", "dim")
        branches[path] = above.add(label)
