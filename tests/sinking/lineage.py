"""Graphs of datasets as pipelines declare them, and what an independent walk finds in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sinking.records import after, declared
from sinking.tables import Sinking
from watchline.schemas.records import PipelineRecord

Edge = tuple[str, str]
Reached = dict[str, tuple[int, list[str]]]  # of a dataset: depth and path

REACHED = """
select reached, depth, path from reporting.lineage_paths where dataset = $1 and direction = $2 order by depth, path
"""


def pipeline(name: str, sources: Iterable[str], targets: Iterable[str], *, revision: int = 1) -> PipelineRecord:
    """A declaration that reads and writes the datasets of these names."""
    parts: dict[str, Any] = {
        "sources": [{"name": one} for one in sources],
        "targets": [{"name": one} for one in targets],
    }
    return declared(name, revision=revision, at=after(seconds=revision), **parts)


def pipelines(edges: Iterable[Edge]) -> list[PipelineRecord]:
    """One pipeline an edge."""
    return [
        pipeline(f"p{number}", [source], [target], revision=number) for number, (source, target) in enumerate(edges, 1)
    ]


async def reached(sinking: Sinking, dataset: str, direction: str = "downstream") -> Reached:
    """What the view says, each dataset once."""
    found = await sinking.connection.fetch(REACHED, dataset, direction, timeout=20)
    by_name: Reached = {name: (depth, path) for name, depth, path in found}
    assert len(by_name) == len(found)
    return by_name


def walked(edges: Iterable[Edge], dataset: str, direction: str = "downstream") -> Reached:
    """The same by a walk in breadth: of the shortest paths the first by name."""
    forward = list(edges) if direction == "downstream" else [(target, source) for source, target in edges]
    found: Reached = {dataset: (0, [dataset])}
    ahead = {dataset: [dataset]}
    while ahead:
        ahead = least(
            ahead, [(source, target) for source, target in forward if source in ahead and target not in found]
        )
        found |= {name: (len(path) - 1, path) for name, path in ahead.items()}
    del found[dataset]
    return found


def least(ahead: Mapping[str, list[str]], steps: Iterable[Edge]) -> dict[str, list[str]]:
    """The least path to each of the next datasets."""
    paths: dict[str, list[str]] = {}
    for source, target in steps:
        path = [*ahead[source], target]
        paths[target] = min(paths.get(target, path), path)
    return paths
