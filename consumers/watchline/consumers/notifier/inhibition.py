"""Lateness that follows from lateness upstream: whom a late pipeline keeps quiet. Pure functions.

A pipeline is downstream of another one when it reads, over any number of steps, what that one writes. While
something upstream is late, lateness downstream has a cause that people know of already. A failure never has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple
from uuid import UUID

LATE_KINDS = frozenset({"freshness", "timeliness", "missed_start"})


class Late(NamedTuple):
    """An open incident of a late pipeline."""

    opened_at: datetime
    incident_id: UUID
    pipeline: str


class Reads(NamedTuple):
    """What a pipeline reads and writes, as declared; datasets by any name that is the same for the same data."""

    pipeline: str
    sources: frozenset[str]
    targets: frozenset[str]


@dataclass(frozen=True)
class Lineage:
    """Which pipelines stand upstream of which, over any number of steps, cycles included."""

    declared: Sequence[Reads]
    _known: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _feeders(self) -> Mapping[str, frozenset[str]]:
        """The pipelines directly upstream of each."""
        writers: dict[str, set[str]] = defaultdict(set)
        for each in self.declared:
            for dataset in each.targets:
                writers[dataset].add(each.pipeline)
        return {
            each.pipeline: frozenset().union(*(writers[dataset] for dataset in each.sources if dataset in writers))
            for each in self.declared
        }

    def upstream_of(self, pipeline: str) -> frozenset[str]:
        """Everything that `pipeline` waits for; itself only when it stands in a cycle with others."""
        known = self._known.get(pipeline)
        if known is None:
            known = self._known[pipeline] = self._followed(pipeline)
        return known

    def _followed(self, pipeline: str) -> frozenset[str]:
        found: set[str] = set()
        ahead = [pipeline]
        while ahead:
            new = self._feeders.get(ahead.pop(), frozenset()) - found
            found |= new
            ahead += new
        return frozenset(found if found - {pipeline} else ())


def causes_of(held: Iterable[Late], open_ones: Iterable[Late], lineage: Lineage) -> dict[UUID, UUID]:
    """The incident that explains each of `held`, for those that have one: the first that nothing upstream explains.

    In a cycle the incident that opened first explains the others, so that one is always told.
    """
    roots = _roots(open_ones, lineage)
    causes: dict[UUID, UUID] = {}
    for late in held:
        possible = [
            cause
            for name in roots.keys() & lineage.upstream_of(late.pipeline) - {late.pipeline}
            for cause in roots[name]
            if cause < late or late.pipeline not in lineage.upstream_of(name)
        ]
        if possible:
            causes[late.incident_id] = min(possible).incident_id
    return causes


def _roots(open_ones: Iterable[Late], lineage: Lineage) -> Mapping[str, Sequence[Late]]:
    """The late pipelines that nothing late stands upstream of, unless the two stand in a cycle."""
    late: dict[str, list[Late]] = defaultdict(list)
    for each in open_ones:
        late[each.pipeline].append(each)
    return {
        name: found
        for name, found in late.items()
        if all(name in lineage.upstream_of(above) for above in late.keys() & lineage.upstream_of(name))
    }
