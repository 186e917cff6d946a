"""Which pipelines stand upstream of which, circles included, in a form that is walked once however long its chains."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Reads(NamedTuple):
    """What a pipeline reads and writes, as declared; datasets by any name that is the same for the same data."""

    pipeline: str
    sources: frozenset[str]
    targets: frozenset[str]


@dataclass(frozen=True)
class Lineage:
    """Pipelines in circles: those that read, over any number of steps, what the others of their circle write.

    Most are alone in theirs. A circle is a number, and whatever stands upstream of it has a lower one.
    """

    declared: Sequence[Reads]

    def circle_of(self, pipeline: str) -> int | None:
        """The circle of a pipeline; None when it has declared nothing."""
        return self._circles.get(pipeline)

    def feeders_of(self, circle: int) -> frozenset[int]:
        """The circles that this one reads from directly, some of them datasets without a pipeline."""
        return self._feeders[circle]

    def upstream_of(self, circles: Iterable[int]) -> list[int]:
        """These circles and all that they read from over any number of steps; what is read before what reads it."""
        found = set(circles)
        ahead = list(found)
        while ahead:
            new = self._feeders[ahead.pop()] - found
            found |= new
            ahead += new
        return sorted(found)

    @cached_property
    def _numbered(self) -> tuple[Mapping[str, int], Sequence[Sequence[int]], Sequence[int]]:
        """The node of each pipeline, what each node leads to, and the circle of each node.

        Datasets are nodes, too: a hundred readers and a hundred writers of one make two hundred edges and not 10,000.
        """
        pipelines: dict[str, int] = {}
        datasets: dict[str, int] = {}
        edges: dict[int, list[int]] = defaultdict(list)

        def node_of(name: str, known: dict[str, int]) -> int:
            return known.setdefault(name, len(pipelines) + len(datasets))

        for each in self.declared:
            node = node_of(each.pipeline, pipelines)
            edges[node] += (node_of(name, datasets) for name in each.sources)
            for name in each.targets:
                edges[node_of(name, datasets)].append(node)
        led = [edges[node] for node in range(len(pipelines) + len(datasets))]
        return pipelines, led, circles_of(led)

    @cached_property
    def _circles(self) -> Mapping[str, int]:
        pipelines, _, circles = self._numbered
        return {name: circles[node] for name, node in pipelines.items()}

    @cached_property
    def _feeders(self) -> Sequence[frozenset[int]]:
        _, led, circles = self._numbered
        feeders: list[set[int]] = [set() for _ in range(max(circles, default=-1) + 1)]
        for node, ahead in enumerate(led):
            feeders[circles[node]].update(circles[other] for other in ahead)
        return [frozenset(found - {circle}) for circle, found in enumerate(feeders)]


def circles_of(edges: Sequence[Sequence[int]]) -> list[int]:
    """The circle that each node of a graph stands in, alone or with others; what it leads to has a lower number.

    R. Tarjan, "Depth-first search and linear graph algorithms" (1972), without recursion: chains are long.
    """
    entered, lowest, circles = [-1] * len(edges), [0] * len(edges), [-1] * len(edges)
    waiting: list[int] = []  # entered, and not yet in a circle
    entries = count = 0
    for root in range(len(edges)):
        path: list[tuple[int, Iterator[int]]] = [(root, iter(edges[root]))] if entered[root] < 0 else []
        while path:
            node, ahead = path[-1]
            if entered[node] < 0:
                entered[node] = lowest[node] = entries
                entries += 1
                waiting.append(node)
            for other in ahead:
                if entered[other] < 0:
                    path.append((other, iter(edges[other])))
                    break
                if circles[other] < 0:
                    lowest[node] = min(lowest[node], lowest[other])
            else:
                path.pop()
                if path:
                    lowest[path[-1][0]] = min(lowest[path[-1][0]], lowest[node])
                if lowest[node] == entered[node]:
                    while circles[node] < 0:
                        circles[waiting.pop()] = count
                    count += 1
    return circles
