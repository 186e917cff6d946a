"""Reading what EXPLAIN says: which tables a query would read from end to end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]


def nodes_of(plan: Node) -> Iterator[Node]:
    """The node and all below it, whatever their part: inputs, subplans, CTEs."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes_of(below)


def read_through(explained: list[Node]) -> set[str]:
    """The tables with a sequential scan (a parallel one too) in the answer of `explain (format json)`."""
    return {
        node["Relation Name"]
        for statement in explained
        for node in nodes_of(statement["Plan"])
        if node["Node Type"] in {"Seq Scan", "Sample Scan"}
    }
