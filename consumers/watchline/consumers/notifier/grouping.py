"""Which alerts are told now, together with which, and which wait: a pure function of what is pending.

The words are Alertmanager's. A group is one pipeline and one owner. `group_wait` is how long the first alert
of a group waits for others, `group_interval` the least time between two messages of it, `repeat_interval` the
time after which an incident that is still open is told again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple
from uuid import UUID

from watchline.schemas.records import IncidentRecord


class Group(NamedTuple):
    """Alerts that are told together."""

    pipeline: str
    owner: str | None


@dataclass(frozen=True, slots=True)
class Alert:
    """One row of the outbox: a transition of an incident that somebody has to hear of.

    `told_at` is set on a reminder: an alert that was told and whose incident is still open. `announced` is
    False when all earlier transitions of its incident were suppressed, so that nobody knows of the incident.
    """

    alert_id: int
    incident: IncidentRecord
    created_at: datetime
    attempts: int = 0
    told_at: datetime | None = None
    announced: bool = True

    @property
    def group(self) -> Group:
        return Group(self.incident.pipeline, self.incident.owner)


@dataclass(frozen=True, slots=True)
class Message:
    """Alerts of one message, oldest first."""

    alerts: tuple[Alert, ...]

    @property
    def alert_ids(self) -> list[int]:
        return [alert.alert_id for alert in self.alerts]

    @property
    def attempts(self) -> int:
        return max(alert.attempts for alert in self.alerts)

    @property
    def oldest_at(self) -> datetime:
        """When the first of these alerts began to wait for this message."""
        return min(_waiting_since(alert) for alert in self.alerts)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long groups wait; more than `digest_above` messages due at once become one per owner."""

    group_wait: timedelta = timedelta(seconds=30)
    group_interval: timedelta = timedelta(minutes=5)
    repeat_interval: timedelta = timedelta(hours=4)
    digest_above: int = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with the alerts at hand; `waiting` maps a time to the alerts that are due then."""

    messages: tuple[Message, ...] = ()
    waiting: Mapping[datetime, list[int]] = field(default_factory=dict)
    untold: tuple[int, ...] = ()


def plan_messages(alerts: Iterable[Alert], last_sent: Mapping[Group, datetime], now: datetime, timing: Timing) -> Plan:
    """Divide `alerts` into messages to send now, oldest first, those that wait, those that nobody needs."""
    groups: dict[Group, list[Alert]] = defaultdict(list)
    untold: list[int] = []
    for alert in sorted(alerts, key=lambda each: (each.created_at, each.alert_id)):
        groups[alert.group].append(alert)
    due: list[Message] = []
    waiting: dict[datetime, list[int]] = defaultdict(list)
    for group, members in groups.items():
        unknown = _ends_nobody_heard_begin(members)
        untold += [alert.alert_id for alert in members if alert.incident.incident_id in unknown]
        told = tuple(alert for alert in members if alert.incident.incident_id not in unknown)
        if not told:
            continue
        at = due_at(told, last_sent.get(group), timing)
        if at > now:
            waiting[at] += [alert.alert_id for alert in told]
        else:
            due.append(Message(told))
    return Plan(_as_digests(due, timing.digest_above), dict(waiting), tuple(untold))


def due_at(alerts: Sequence[Alert], last_sent: datetime | None, timing: Timing) -> datetime:
    """When a group is told: after its wait, and no sooner than an interval after its last message."""
    first = min(
        alert.told_at + timing.repeat_interval if alert.told_at else alert.created_at + timing.group_wait
        for alert in alerts
    )
    return first if last_sent is None else max(first, last_sent + timing.group_interval)


def _ends_nobody_heard_begin(alerts: Sequence[Alert]) -> set[UUID]:
    by_incident: dict[UUID, list[Alert]] = defaultdict(list)
    for alert in alerts:
        by_incident[alert.incident.incident_id].append(alert)
    return {
        incident_id
        for incident_id, members in by_incident.items()
        if all(alert.incident.transition == "resolved" and not alert.announced for alert in members)
    }


def _as_digests(messages: Sequence[Message], digest_above: int) -> tuple[Message, ...]:
    """In a storm one message per owner: at a message a second, people would read of it for hours."""
    if len(messages) <= digest_above:
        return tuple(sorted(messages, key=lambda message: message.oldest_at))
    by_owner: dict[str | None, list[Message]] = defaultdict(list)
    for message in sorted(messages, key=lambda each: each.oldest_at):
        by_owner[message.alerts[0].incident.owner].append(message)
    return tuple(
        Message(tuple(chain.from_iterable(message.alerts for message in several))) for several in by_owner.values()
    )


def _waiting_since(alert: Alert) -> datetime:
    return alert.told_at or alert.created_at
