"""Incidents on a terminal and as JSON: what somebody's events say must not steer the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from rich.table import Table
from rich.text import Text

from watchline.cli.incidents.stored import Change, Incident
from watchline.consumers.notifier.stories import fact_line
from watchline.consumers.notifier.wording import duration, utc
from watchline.schemas.printing import printable
from watchline.schemas.records import IncidentFact

STYLES = {"fail": "bold red", "warn": "yellow", "resolved": "green"}
SHORT = 8  # characters of an id, as in a message


def table_of(incidents: Sequence[Incident], *, now: datetime) -> Table:
    """A line or two an incident, within 80 columns."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("id", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("since, UTC", no_wrap=True)
    table.add_column("pipeline: what is wrong", overflow="fold")
    for one in incidents:
        mark = "resolved" if one.state == "resolved" else one.severity
        what = f"{printable(one.pipeline, 120)}: {printable(one.title, 200)}"
        table.add_row(
            str(one.incident_id)[:SHORT],
            Text(f"{one.severity}\n{word_of(one, now)}", STYLES[mark]),
            f"{one.opened_at.astimezone(UTC):%m-%d %H:%M}\n{duration(lasted(one, now))}",
            Text("\n".join([what, *care_of(one)])),
        )
    return table


def word_of(incident: Incident, now: datetime) -> str:
    """The state in a word."""
    if incident.snoozed_until is not None and incident.state == "open" and incident.snoozed_until > now:
        return "snoozed"
    return incident.state


def care_of(incident: Incident) -> Iterator[str]:
    """Who does something about it, and what they say."""
    if incident.acknowledged_by is not None:
        yield f"acknowledged by {printable(incident.acknowledged_by, 200)}"
    if incident.snoozed_until is not None and incident.state == "open":
        yield f"snoozed until {utc(incident.snoozed_until)}"
    if incident.note:
        yield f"“{printable(incident.note, 200)}”"


def lasted(incident: Incident, now: datetime) -> float:
    """Seconds that it was open, or has been."""
    return max(0.0, ((incident.resolved_at or now) - incident.opened_at).total_seconds())


def count_line(incidents: Sequence[Incident]) -> str:
    """How many there are: `3 incidents: 2 fail, 1 warn`."""
    if not incidents:
        return "no incidents"
    counted = [f"{number} {word}" for word in STYLES if (number := sum(one.severity == word for one in incidents))]
    return f"{len(incidents):,} incident{'s' if len(incidents) > 1 else ''}: {', '.join(counted)}"


def sheet_of(incident: Incident, facts: str, changes: Sequence[Change], *, now: datetime) -> Iterator[str]:
    """Everything about an incident, a line at a time."""
    shown = {
        "incident": str(incident.incident_id),
        "pipeline": printable(incident.pipeline, 200),
        "what": f"{incident.severity} {incident.kind}: {printable(incident.title, 500)}",
        "state": word_of(incident, now),
        "owner": printable(incident.owner or "nobody", 200),
        "run": str(incident.run_id) if incident.run_id else None,
        "since": f"{utc(incident.opened_at)} ({duration(lasted(incident, now))})",
        "resolved": f"{utc(incident.resolved_at)}, {incident.resolve_reason}" if incident.resolved_at else None,
        "care": "; ".join(care_of(incident)) or None,
    }
    for name, value in shown.items():
        if value is not None:
            yield f"{name:<10}{value}"
    for fact in json.loads(facts):
        yield f"{'seen':<10}{fact_line(IncidentFact.model_validate(fact))}"
    for change in changes:
        yield f"{'change':<10}{change.transition_no} {utc(change.at)} {words_of(change)}"


def words_of(change: Change) -> str:
    """A transition in words: `resolved (manual) by ada@etl-1: known`."""
    words = f"{change.transition} {change.severity}"
    words += f" ({change.resolve_reason})" if change.resolve_reason else ""
    words += f" by {printable(change.by, 200)}" if change.by else ""
    return words + (f": {printable(change.note, 500)}" if change.note else "")


def json_of(fields: Mapping[str, Any]) -> str:
    """One line of ASCII: no terminal is steered by it."""
    return json.dumps(fields, separators=(",", ":"), default=plain).replace("\x7f", "\\u007f")


def plain(value: object) -> object:
    """Times in ISO 8601, ids as text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON")


def incident_json(incident: Incident, **more: Any) -> str:
    """An incident as one line of JSON."""
    return json_of(asdict(incident) | more)
