"""What a digest says of a storm, before it is dressed for Slack or for a terminal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from watchline.consumers.notifier.alert import Alert, Message, Storm
from watchline.consumers.notifier.stories import MAX_TEXT, Mark
from watchline.consumers.notifier.wording import duration, number
from watchline.schemas.printing import printable, shorten
from watchline.schemas.records import IncidentRecord

SHOWN = 20
MAX_LINE = 130


@dataclass(frozen=True, slots=True)
class Digest:
    """A storm in a message: how many incidents, which are open, where to see all of them."""

    mark: Mark
    heading: str
    facts: tuple[str, ...]
    lines: tuple[str, ...]
    reference: str


def digest(message: Message, storm: Storm) -> Digest:
    """The incidents of a storm as they stand now; those that have resolved are only counted."""
    newest = newest_of(message)
    open_ones = sorted((each for each in newest if each.transition != "resolved"), key=_worst_first)
    resolved = len(newest) - len(open_ones)
    facts = [f"{number(len(open_ones))} open: {_counted(open_ones)}"] if open_ones else ["none is open any more"]
    facts += [f"{number(resolved)} resolved meanwhile"] if resolved and open_ones else []
    hidden = len(open_ones) - SHOWN
    lines = [*(_line(each) for each in open_ones[:SHOWN]), *([f"and {number(hidden)} more"] if hidden > 0 else [])]
    return Digest(
        mark="resolved" if not open_ones else open_ones[0].severity,
        heading=_heading(newest, storm),
        facts=tuple(facts),
        lines=tuple(lines),
        reference=f"storm {storm.storm_id}: all of it stands in alert_outbox",
    )


def newest_of(message: Message) -> list[IncidentRecord]:
    """The newest transition of each incident that a message knows of."""
    newest: dict[UUID, Alert] = {}
    for alert in (*message.company, *message.alerts):
        known = newest.get(alert.incident.incident_id)
        if known is None or alert.incident.transition_no >= known.incident.transition_no:
            newest[alert.incident.incident_id] = alert
    return [alert.incident for alert in newest.values()]


def _heading(incidents: list[IncidentRecord], storm: Storm) -> str:
    many = f"{number(len(incidents))} new incidents"
    if storm.ended_at is None:
        return f"Storm: {many}, told together until it is over"
    lasted = duration((storm.ended_at - storm.began_at).total_seconds())
    return f"Storm over after {lasted}: {many}; new ones are told one by one again"


def _counted(incidents: list[IncidentRecord]) -> str:
    kinds = Counter(f"{each.kind} ({each.severity})" for each in incidents)
    return printable(", ".join(f"{number(count)} {kind}" for kind, count in kinds.most_common()), MAX_TEXT)


def _worst_first(incident: IncidentRecord) -> tuple[bool, str]:
    return incident.severity != "fail", incident.pipeline


def _line(incident: IncidentRecord) -> str:
    return printable(f"{shorten(incident.pipeline, 70)}: {incident.title}", MAX_LINE)
