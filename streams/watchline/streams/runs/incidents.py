"""Incidents of one pipeline: at most one open per kind and subject, each transition numbered and published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Literal
from uuid import UUID, uuid5

import orjson

from watchline.schemas.records import (
    IncidentFact,
    IncidentKind,
    IncidentRecord,
    ResolveReason,
    Transition,
    revision_of,
)
from watchline.streams.declarations import Declared
from watchline.streams.effects import Effects
from watchline.streams.instants import to_datetime
from watchline.streams.rows import OpenIncident, RunsRow

Severity = Literal["warn", "fail"]
NAMESPACE = UUID("6f2a3c1e-7d0b-5c58-9a51-0a7b0d5f8e11")
MAX_FACTS = 8
FLAPPING = 2  # times that the condition came back before the message says so


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a fold stands: whose row, under which declaration, at which record of which log."""

    pipeline: str
    declared: Declared
    epoch: int
    effects: Effects
    watermark_at: int | None = None  # how far its data is complete, if that is a time and is limited
    patience: int = 0  # by how many microseconds the clock of the log may lag behind what is read


def find_incident(row: RunsRow, kind: IncidentKind, subject: str = "") -> OpenIncident | None:
    """The open incident of `kind` and `subject`, if any."""
    return next((it for it in row.incidents if it.kind == kind and it.subject == subject), None)


def open_incident(
    scene: Scene,
    row: RunsRow,
    kind: IncidentKind,
    *,
    at: int,
    cause_at: int,
    severity: Severity,
    title: str,
    facts: Sequence[IncidentFact],
    subject: str = "",
    run_id: bytes | None = None,
) -> OpenIncident:
    """Open an incident and say so; its id follows from fingerprint and log position, so a replay makes the same one."""
    fingerprint = fingerprint_of(scene.pipeline, kind, subject)
    identity = uuid5(NAMESPACE, f"{fingerprint}:{scene.epoch}:{row.partition}:{row.offset}").bytes
    incident = OpenIncident(kind, subject, identity, at, cause_at, severity, title, pack_facts(facts), run_id=run_id)
    row.incidents.append(incident)
    _publish(scene, row, incident, "opened", at)
    return incident


def report_trouble(
    scene: Scene,
    row: RunsRow,
    kind: IncidentKind,
    *,
    at: int,
    severity: Severity,
    title: str,
    facts: Sequence[IncidentFact],
    run_id: bytes | None,
    cause_at: int | None = None,
) -> OpenIncident:
    """Open the one incident of `kind` that the pipeline has, or bring it up to date with what happened `at`.

    Its severity never falls while it is open, nor does its time go back. `cause_at` is `at` unless told otherwise.
    """
    incident, cause_at = find_incident(row, kind), at if cause_at is None else cause_at
    if incident is None:
        return open_incident(
            scene, row, kind, at=at, cause_at=cause_at, severity=severity, title=title, facts=facts, run_id=run_id
        )
    incident.cause_at = max(incident.cause_at, cause_at)
    renew_incident(scene, row, incident, at=at, severity=severity, title=title, facts=facts, run_id=run_id)
    return incident


def renew_incident(
    scene: Scene,
    row: RunsRow,
    incident: OpenIncident,
    *,
    at: int,
    severity: Severity,
    title: str,
    facts: Sequence[IncidentFact],
    run_id: bytes | None,
) -> None:
    """Bring an open incident up to date and say so; its severity never falls while it is open."""
    if incident.severity == "warn" and severity == "fail":  # worse than what somebody took care of
        incident.acknowledged_at = incident.acknowledged_by = incident.snoozed_until = incident.note = None
    rearm_incident(incident)
    incident.transition_no += 1
    incident.severity = "fail" if "fail" in (incident.severity, severity) else "warn"
    incident.title, incident.run_id, incident.facts = title, run_id, pack_facts(facts)
    _publish(scene, row, incident, "updated", max(at, incident.opened_at))


def pack_facts(facts: Sequence[IncidentFact]) -> bytes:
    """The first few facts as JSON: the row keeps them for the last message of the incident."""
    return orjson.dumps([fact.model_dump(exclude_none=True) for fact in facts[:MAX_FACTS]])


def facts_of(incident: OpenIncident) -> tuple[IncidentFact, ...]:
    """The facts that an open incident told last."""
    return tuple(IncidentFact.model_validate(fact) for fact in orjson.loads(incident.facts))


def rearm_incident(incident: OpenIncident) -> None:
    """The condition is there again, if it was gone: count it."""
    if incident.cleared_at is not None or incident.clean_runs:
        incident.flaps += 1
    incident.cleared_at, incident.clean_runs = None, 0


def resolve_incident(
    scene: Scene, row: RunsRow, incident: OpenIncident, *, at: int, reason: ResolveReason, by: str | None = None
) -> None:
    """Close an incident and say why; one cannot end before it began."""
    row.incidents.remove(incident)
    change_incident(scene, row, incident, "resolved", at=at, reason=reason, by=by)


def change_incident(
    scene: Scene,
    row: RunsRow,
    incident: OpenIncident,
    transition: Transition,
    *,
    at: int,
    reason: ResolveReason | None = None,
    by: str | None = None,
) -> None:
    """Number a transition and say so; none lies before the incident began."""
    incident.transition_no += 1
    _publish(scene, row, incident, transition, max(at, incident.opened_at), reason, by)


def fingerprint_of(pipeline: str, kind: str, subject: str) -> str:
    """What makes two incidents the same one: pipeline, kind and subject, hashed (32 hex digits)."""
    return sha256("\0".join((pipeline, kind, subject)).encode()).hexdigest()[:32]


def _publish(
    scene: Scene,
    row: RunsRow,
    incident: OpenIncident,
    transition: Transition,
    at: int,
    reason: ResolveReason | None = None,
    by: str | None = None,
) -> None:
    scene.effects.incidents.append(
        IncidentRecord(
            pipeline=scene.pipeline,
            revision=revision_of(scene.epoch, row.offset),
            incident_id=UUID(bytes=incident.incident_id),
            fingerprint=fingerprint_of(scene.pipeline, incident.kind, incident.subject),
            kind=incident.kind,
            subject=incident.subject,
            transition=transition,
            transition_no=incident.transition_no,
            severity=incident.severity,
            at=to_datetime(at),
            opened_at=to_datetime(incident.opened_at),
            cause_at=to_datetime(incident.cause_at),
            resolved_at=to_datetime(at) if transition == "resolved" else None,
            resolve_reason=reason,
            run_id=UUID(bytes=incident.run_id) if incident.run_id else None,
            owner=scene.declared.owner,
            pipeline_type=scene.declared.type,
            title=incident.title,
            facts=_facts_of(incident),
            acknowledged_at=_moment(incident.acknowledged_at),
            acknowledged_by=incident.acknowledged_by,
            snoozed_until=_moment(incident.snoozed_until),
            by=by,
            note=incident.note,
        )
    )


def _facts_of(incident: OpenIncident) -> tuple[IncidentFact, ...]:
    facts = facts_of(incident)
    if incident.flaps < FLAPPING:
        return facts
    flapping = IncidentFact(name="flapping", value=float(incident.flaps), note="times it was gone and came back")
    return (flapping, *facts)


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else to_datetime(micros)
