"""What people decide: incidents acknowledged, resolved and snoozed, checks muted for a while.

Commands stand in the log beside the events of their pipeline, so a replay obeys them at the same place. One that can
change nothing changes nothing, and its record says why.
"""

from __future__ import annotations

from watchline.schemas.events import (
    Command,
    FeedbackGiven,
    IncidentAcknowledged,
    IncidentCommand,
    IncidentSnoozed,
    PipelineMuted,
    PipelineUnmuted,
)
from watchline.schemas.printing import shorten
from watchline.schemas.records import CommandRecord, revision_of
from watchline.streams.instants import to_micros, to_words
from watchline.streams.rows import OpenIncident, RunsRow
from watchline.streams.runs.incidents import Scene, change_incident, resolve_incident

MAX_NOTE = 500  # the row keeps it while the incident is open
QUIET_KINDS = frozenset({"freshness"})  # what a pulse finds again and again: quiet until it has been well once


def obey(scene: Scene, row: RunsRow, command: Command, *, now: int) -> None:
    """Do what `command`, read at `now`, asks for, and say what became of it."""
    at = min(to_micros(command.occurred_at), now)
    if isinstance(command, PipelineMuted):
        detail = _mute(row, command, at)
    elif isinstance(command, PipelineUnmuted):
        detail = _unmute(row, command)
    else:
        detail = _change(scene, row, command, at)
    report(scene, row, command, detail)


def report(scene: Scene, row: RunsRow, command: Command | FeedbackGiven, detail: str | None) -> None:
    """Say what became of a command: applied, unless `detail` says why it was ignored."""
    about = {name: getattr(command, name, None) for name in ("incident_id", "run_id", "check", "until", "verdict")}
    scene.effects.state.append(
        CommandRecord(
            pipeline=scene.pipeline,
            revision=revision_of(scene.epoch, row.offset),
            event_id=command.event_id,
            command=command.event_type,
            at=command.occurred_at,
            by=command.by,
            note=getattr(command, "reason", None) or command.note,
            outcome="ignored" if detail else "applied",
            detail=detail or "",
            metrics=getattr(command, "metrics", ()),
            **about,
        )
    )


def wake_at(row: RunsRow) -> int | None:
    """When the first snooze ends."""
    return min((it.snoozed_until for it in row.incidents if it.snoozed_until is not None), default=None)


def watch_snoozes(scene: Scene, row: RunsRow, at: int) -> None:
    """End the snoozes that are over at the pulse `at`: whoever is still concerned is reminded."""
    for incident in row.incidents:
        until = incident.snoozed_until
        if until is not None and until <= at:
            incident.snoozed_until = None
            change_incident(scene, row, incident, "woken", at=until)


def _mute(row: RunsRow, command: PipelineMuted, at: int) -> str | None:
    until = to_micros(command.until)
    if until <= at:
        return "it would have ended before it began"
    row.mutes = {check: end for check, end in row.mutes.items() if end > at} | {command.check: until}
    return None


def _unmute(row: RunsRow, command: PipelineUnmuted) -> str | None:
    ended = [check for check in row.mutes if command.check in (check, "all")]
    row.mutes = {check: end for check, end in row.mutes.items() if check not in ended}
    return None if ended else "no such mute was given by command"


def _change(scene: Scene, row: RunsRow, command: IncidentCommand, at: int) -> str | None:
    incident = next((it for it in row.incidents if it.incident_id == command.incident_id.bytes), None)
    if incident is None:
        return "no incident of this pipeline that is open has this id"
    refusal = _why_not(incident, command, at)
    if refusal:
        return refusal
    incident.note = None if command.note is None else shorten(command.note, MAX_NOTE)
    if isinstance(command, IncidentAcknowledged):
        incident.acknowledged_at, incident.acknowledged_by = max(at, incident.opened_at), command.by
        incident.snoozed_until = None
        change_incident(scene, row, incident, "acknowledged", at=at, by=command.by)
    elif isinstance(command, IncidentSnoozed):
        incident.acknowledged_at = incident.acknowledged_by = None
        incident.snoozed_until = to_micros(command.until)
        change_incident(scene, row, incident, "snoozed", at=at, by=command.by)
    else:
        _close(scene, row, incident, at=at, by=command.by)
    return None


def _why_not(incident: OpenIncident, command: IncidentCommand, at: int) -> str | None:
    if isinstance(command, IncidentAcknowledged) and incident.acknowledged_at is not None:
        return f"{incident.acknowledged_by} acknowledged it at {to_words(incident.acknowledged_at)}"
    if isinstance(command, IncidentSnoozed):
        until = to_micros(command.until)
        if until <= max(at, incident.opened_at):
            return "the snooze would have ended before it began"
        if until == incident.snoozed_until:
            return "it is snoozed until then already"
    return None


def _close(scene: Scene, row: RunsRow, incident: OpenIncident, *, at: int, by: str) -> None:
    if incident.kind in QUIET_KINDS and incident.cleared_at is None and incident.kind not in row.quiet:
        row.quiet.append(incident.kind)
        row.quiet_warnings += [incident.kind] if incident.severity == "warn" else []
    resolve_incident(scene, row, incident, at=at, reason="manual", by=by)
