"""What Postgres holds of the night, each change with the moment of the night at which the log brought it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from watchline.schemas.records import EPOCH_SHIFT

Place = tuple[int, int]  # partition and offset in the topic of the runs

CHANGES = """
    select e.incident_id, e.transition_no, e.transition, e.severity, e.resolve_reason, e.revision, i.pipeline, i.kind,
        e.record ->> 'title' as title, o.state, cause.pipeline as cause
    from incident_events e join incidents i using (incident_id)
    left join alert_outbox o on o.incident_id = e.incident_id and o.transition_no = e.transition_no
    left join incidents cause on cause.incident_id = o.inhibited_by
    order by e.incident_id, e.transition_no
"""
INCIDENTS = """
    select i.incident_id, i.pipeline, i.kind, i.opened_at, i.resolved_at, i.resolve_reason,
        exists (select from alert_outbox o where o.incident_id = i.incident_id and o.state = 'sent') as told,
        (select min(c.pipeline) from alert_outbox o join incidents c on c.incident_id = o.inhibited_by
            where o.incident_id = i.incident_id) as cause
    from incidents i order by i.opened_at, i.pipeline, i.kind
"""
STARTS = "select pipeline, due_at, state from expected_runs where state <> 'expected' order by due_at, pipeline"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an incident; `at` is the moment of the night at which the log brought it."""

    at: datetime
    incident_id: UUID
    number: int
    pipeline: str
    kind: str
    transition: str
    severity: str
    title: str
    reason: str | None
    told: bool
    under: str | None  # the pipeline with whose message it is told


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident as it stands when the night is over."""

    pipeline: str
    kind: str
    opened_at: datetime
    resolved_at: datetime | None
    reason: str | None
    told: bool
    under: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """All that was found."""

    changes: tuple[Change, ...]
    incidents: tuple[Incident, ...]
    starts: Mapping[tuple[str, datetime], str]


async def read_account(
    connection: asyncpg.Connection[Any], places: Mapping[str, int], arrivals: Mapping[Place, datetime]
) -> Account:
    """Read it; `places` are the partitions of the pipelines, `arrivals` when the night brought each record."""
    changes = [change_of(row, places, arrivals) for row in await connection.fetch(CHANGES)]
    incidents = [
        Incident(
            row["pipeline"],
            row["kind"],
            row["opened_at"],
            row["resolved_at"],
            row["resolve_reason"],
            row["told"],
            row["cause"],
        )
        for row in await connection.fetch(INCIDENTS)
    ]
    starts = {(row["pipeline"], row["due_at"]): row["state"] for row in await connection.fetch(STARTS)}
    return Account(tuple(sorted(changes, key=lambda one: one.at)), tuple(incidents), starts)


def change_of(
    row: Mapping[str, Any] | asyncpg.Record, places: Mapping[str, int], arrivals: Mapping[Place, datetime]
) -> Change:
    """A change; its revision holds the offset of the record that brought it."""
    offset = (row["revision"] & ((1 << EPOCH_SHIFT) - 1)) - 1
    return Change(
        at=arrivals[places[row["pipeline"]], offset],
        incident_id=row["incident_id"],
        number=row["transition_no"],
        pipeline=row["pipeline"],
        kind=row["kind"],
        transition=row["transition"],
        severity=row["severity"],
        title=row["title"],
        reason=row["resolve_reason"],
        told=row["state"] == "sent",
        under=row["cause"],
    )


def untold(changes: Sequence[Change], heard: set[tuple[str, int]]) -> list[Change]:
    """The newest told change of each incident that is not among `heard` (8 digits of the id, number)."""
    newest = {change.incident_id: change for change in sorted(changes, key=lambda one: one.number) if change.told}
    return [each for each in newest.values() if (str(each.incident_id)[:8], each.number) not in heard]
