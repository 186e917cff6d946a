"""Incidents that follow from others: whom a late pipeline or a failed run keeps quiet. Pure functions.

A pipeline is downstream of another one when it reads, over any number of steps, what that one writes. While
something upstream is late, lateness downstream has a cause that people know of already. A failure has none upstream;
but a run that fails because one that it started has failed is the same trouble once more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from watchline.consumers.notifier.lineage import Lineage

LATE_KINDS = frozenset({"freshness", "timeliness", "missed_start"})


class Late(NamedTuple):
    """An open incident of a late pipeline."""

    opened_at: datetime
    incident_id: UUID
    pipeline: str


class Follows(NamedTuple):
    """An open failure whose run is an ancestor, `depth` steps up, of a run that another open failure is about."""

    incident_id: UUID
    opened_at: datetime
    cause_id: UUID
    cause_opened_at: datetime
    depth: int


def causes_of(held: Iterable[Late], open_ones: Iterable[Late], lineage: Lineage) -> dict[UUID, UUID]:
    """The incident that explains each of `held`, for those that have one: the first that nothing upstream explains.

    In a circle the incident that opened first explains the others, so that one is always told.
    """
    waiting = [(late, circle) for late in held if (circle := lineage.circle_of(late.pipeline)) is not None]
    first = _first_of(open_ones, lineage)
    above = _first_above({circle for _, circle in waiting}, first, lineage)
    causes: dict[UUID, UUID] = {}
    for late, circle in waiting:
        beside = (cause for cause in first.get(circle, ()) if cause.pipeline != late.pipeline and cause < late)
        cause = above[circle] or next(beside, None)
        if cause is not None:
            causes[late.incident_id] = cause.incident_id
    return causes


def _first_of(open_ones: Iterable[Late], lineage: Lineage) -> Mapping[int, Sequence[Late]]:
    """By circle the incident that opened first, then the first of another pipeline: one of them is not one's own."""
    first: dict[int, list[Late]] = defaultdict(list)
    for late in sorted(open_ones):
        circle = lineage.circle_of(late.pipeline)
        if (
            circle is not None
            and len(found := first[circle]) < 2
            and late.pipeline not in {it.pipeline for it in found}
        ):
            found.append(late)
    return first


def _first_above(circles: Set[int], first: Mapping[int, Sequence[Late]], lineage: Lineage) -> dict[int, Late | None]:
    """For these circles, and all upstream of them, the first incident upstream that nothing further up explains."""
    above: dict[int, Late | None] = {}
    told: dict[int, Late | None] = {}  # the same or, where nothing upstream is late, what opened first in the circle
    for circle in lineage.upstream_of(circles):
        above[circle] = min((late for each in lineage.feeders_of(circle) if (late := told[each])), default=None)
        told[circle] = above[circle] or next(iter(first.get(circle, ())), None)
    return above


def causes_below(pairs: Iterable[Follows]) -> dict[UUID, UUID]:
    """The incident that explains each failure for which there is one: that of the failed run deepest below it.

    Of two at one depth the one that opened first. In a circle the failure that opened first explains the others.
    """
    best: dict[UUID, Follows] = {}
    for pair in sorted(pairs, key=lambda each: (-each.depth, each.cause_opened_at, each.cause_id)):
        best.setdefault(pair.incident_id, pair)
    causes = {pair.incident_id: pair.cause_id for pair in best.values()}
    for first in sorted(best.values(), key=lambda each: (each.opened_at, each.incident_id)):
        if _last_of(first.incident_id, causes) == first.incident_id:
            del causes[first.incident_id]
    return {incident: _last_of(incident, causes) for incident in causes}


def _last_of(incident: UUID, causes: Mapping[UUID, UUID]) -> UUID:
    """Where the causes of an incident lead; the incident itself if they lead back to it."""
    at, seen = incident, set[UUID]()
    while at in causes and at not in seen:
        seen.add(at)
        at = causes[at]
    return at
