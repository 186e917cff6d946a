"""What a message says, before it is dressed for Slack or for a terminal: nothing is escaped here yet."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from watchline.consumers.notifier.alert import Alert, HeldBack, Message
from watchline.consumers.notifier.wording import duration, number, utc
from watchline.schemas.printing import printable, shorten
from watchline.schemas.records import IncidentFact, IncidentRecord

MAX_TEXT = 400
MAX_NAME, MAX_SUBJECT = 70, 115  # what follows them must fit into a header as well
REASONS = {
    "recovered": "recovered",
    "arrived_late": "arrived late",
    "expired": "expired",
    "manual": "closed by hand",
    "paused": "pipeline paused",
    "removed": "pipeline removed",
    "adopted": "taken as the new normal",
}

CHANGES = {"updated": "changed"}

Mark = Literal["fail", "warn", "resolved"]


@dataclass(frozen=True, slots=True)
class Story:
    """One incident in a message: what happened, what was seen against what was expected, where to look."""

    mark: Mark
    headline: str
    facts: tuple[str, ...]
    details: tuple[tuple[str, str], ...]
    reference: str


def tell(message: Message) -> tuple[Story, ...]:
    """The incidents of a message, worst first; the transitions of one incident become one story.

    With them those that share the post and have nothing new to say.
    """
    by_incident: dict[UUID, list[Alert]] = {}
    new = {alert.incident.incident_id for alert in message.alerts}
    company = [alert for alert in message.company if alert.incident.incident_id not in new]
    for alert in (*company, *message.alerts):
        by_incident.setdefault(alert.incident.incident_id, []).append(alert)
    stories = [_story(alerts) for alerts in by_incident.values()]
    return tuple(sorted(stories, key=lambda story: ("fail", "warn", "resolved").index(story.mark)))


def summary(stories: Iterable[Story]) -> str:
    """One line over a message of several incidents: `2 failing, 1 resolved`."""
    marks = [story.mark for story in stories]
    counted = (("fail", "failing"), ("warn", "warning"), ("resolved", "resolved"))
    return ", ".join(f"{marks.count(mark)} {word}" for mark, word in counted if mark in marks)


def _story(alerts: list[Alert]) -> Story:
    newest = max(alerts, key=lambda alert: alert.incident.transition_no)
    incident = newest.incident
    began_here = any(alert.incident.transition == "opened" and alert.told_at is None for alert in alerts)
    return Story(
        mark="resolved" if incident.transition == "resolved" else incident.severity,
        headline=printable(_headline(incident, began_here=began_here, reminder=newest.is_reminder), MAX_TEXT),
        facts=(*(fact_line(fact) for fact in incident.facts), *_held_back(alerts)),
        details=tuple((label, printable(value, MAX_TEXT)) for label, value in _details(incident)),
        reference=f"incident {str(incident.incident_id)[:8]}, change {incident.transition_no}",
    )


def _headline(incident: IncidentRecord, *, began_here: bool, reminder: bool) -> str:
    name = shorten(incident.pipeline, MAX_NAME)
    subject = f"{name}: {shorten(incident.title, MAX_SUBJECT - len(name))}"
    if incident.transition == "resolved":
        lasted = duration(_lasted(incident))
        return f"{subject} (was open for {lasted})" if began_here else f"{subject} (resolved after {lasted})"
    if reminder or incident.transition == "woken":
        return f"{subject} (still open)"
    if began_here or incident.transition == "opened":
        return subject
    return f"{subject} ({CHANGES.get(incident.transition, incident.transition)})"


def _held_back(alerts: Iterable[Alert]) -> Iterable[str]:
    """Who else is late because of it and is not told of by itself."""
    held: HeldBack | None = next((alert.held_back for alert in alerts if alert.held_back is not None), None)
    if held is not None:
        names = ", ".join(shorten(name, MAX_NAME) for name in held.names)
        more = f" and {number(held.count - len(held.names))} more" if held.count > len(held.names) else ""
        yield printable(f"{number(held.count)} downstream late for it: {names}{more}", 2 * MAX_TEXT)


def _details(incident: IncidentRecord) -> Iterable[tuple[str, str]]:
    yield "Pipeline", incident.pipeline
    if incident.run_id is not None:
        yield "Run", str(incident.run_id)
    yield "Since", utc(incident.opened_at)
    if incident.transition == "resolved":
        reason = REASONS.get(incident.resolve_reason or "")
        lasted = duration(_lasted(incident))
        yield "Lasted", f"{lasted}, {reason}{_by(incident)}" if reason else lasted
    yield from _care(incident)
    yield "Owner", incident.owner or "nobody"


def _by(incident: IncidentRecord) -> str:
    """Whose command it was, if it was one."""
    return f" by {incident.by}" if incident.by else ""


def _care(incident: IncidentRecord) -> Iterable[tuple[str, str]]:
    """Who takes care of it, and what was said about it."""
    if incident.acknowledged_by:
        yield "Acknowledged by", incident.acknowledged_by
    if incident.note:
        yield "Note", incident.note


def _lasted(incident: IncidentRecord) -> float:
    return max(0.0, ((incident.resolved_at or incident.at) - incident.opened_at).total_seconds())


def fact_line(fact: IncidentFact) -> str:
    """One fact in words: `inserts 12, expected 950 to 1,310 (z -9.1, 212 runs)`."""
    name = fact.name.removesuffix("_seconds").replace("_", " ")
    line = name if fact.value is None else f"{name} {_quantity(fact.value, fact.unit)}"
    if (expectation := _expectation(fact)) is not None:
        line += f", {expectation}"
    basis = [f"z {fact.score:.1f}"] if fact.score is not None else []
    basis += [f"{number(fact.baseline_runs)} runs"] if fact.baseline_runs is not None else []
    line += f" ({', '.join(basis)})" if basis else ""
    line += f"; {fact.note}" if fact.note else ""
    return printable(line, MAX_TEXT)


def _expectation(fact: IncidentFact) -> str | None:
    if fact.lower is not None and fact.upper is not None:
        return f"expected {_quantity(fact.lower, fact.unit)} to {_quantity(fact.upper, fact.unit)}"
    if fact.lower is not None:
        return f"expected at least {_quantity(fact.lower, fact.unit)}"
    if fact.upper is not None:
        return f"expected at most {_quantity(fact.upper, fact.unit)}"
    if fact.expected is not None:
        return f"expected {_quantity(fact.expected, fact.unit)}"
    return None if fact.limit is None else f"limit {_quantity(fact.limit, fact.unit)}"


def _quantity(value: float | str, unit: str) -> str:
    if isinstance(value, str):
        return value
    if unit == "seconds":
        return duration(value)
    return f"{number(value)} rows/s" if unit == "rows_per_second" else number(value)
