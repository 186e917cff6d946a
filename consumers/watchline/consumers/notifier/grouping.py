"""Which alerts are told now, together with which, and which wait: a pure function of what is pending.

The words are Alertmanager's. A group is one pipeline and one owner, or one storm. `group_wait` is how long the
first alert of a group waits for others, `group_interval` the least time between two messages of it,
`repeat_interval` the time after which an incident that is still open is told again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from watchline.consumers.notifier.alert import Alert, Group, Message, Post


@dataclass(frozen=True, slots=True)
class Timing:
    """How long groups wait; more than `digest_above` new incidents within `digest_window` are a storm."""

    group_wait: timedelta = timedelta(seconds=30)
    group_interval: timedelta = timedelta(minutes=5)
    repeat_interval: timedelta = timedelta(hours=4)
    settle: timedelta = timedelta(minutes=10)
    digest_above: int = 20
    digest_window: timedelta = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with the alerts at hand; `waiting` maps a time to the alerts that are due then.

    `untold` ended before anybody heard of them, `unshown` would change a post that can't be changed.
    """

    messages: tuple[Message, ...] = ()
    waiting: Mapping[datetime, list[int]] = field(default_factory=dict)
    untold: tuple[int, ...] = ()
    unshown: tuple[int, ...] = ()


class _Part(NamedTuple):
    """Alerts of one group that go into one message: those of one post, or of one delivery in doubt."""

    post: Post | None
    delivery: UUID | None


def plan_messages(
    alerts: Iterable[Alert],
    last_sent: Mapping[Group, datetime],
    now: datetime,
    timing: Timing,
    *,
    edits: bool = False,
) -> Plan:
    """Divide `alerts` into messages to send now, oldest first, those that wait, those that nobody needs.

    `edits`: the channel can edit what it has posted. Each post is then a message of its own, and what changes a
    post without anybody being called for it (a quiet alert) does not wait.
    """
    groups: dict[Group, list[Alert]] = defaultdict(list)
    for alert in sorted(alerts, key=lambda each: (each.created_at, each.alert_id)):
        groups[alert.group].append(alert)
    due: list[Message] = []
    waiting: dict[datetime, list[int]] = defaultdict(list)
    untold: list[int] = []
    unshown: list[int] = []
    for group, members in groups.items():
        closed = _closed(members)
        unseen = set() if edits else _unseen(members) - closed
        untold += closed
        unshown += unseen
        told = [alert for alert in members if alert.alert_id not in closed | unseen]
        loud = [alert for alert in told if group.storm is not None or not alert.is_silent]
        at = due_at(loud, last_sent.get(group), _interval(group, timing, edits=edits), timing) if loud else None
        if at is not None and at > now:
            waiting[at] += [alert.alert_id for alert in loud]
            told = [] if group.storm is not None else [alert for alert in told if alert.is_silent]
        due += _messages(group, told, edits=edits)
    return Plan(tuple(sorted(due, key=lambda message: message.oldest_at)), dict(waiting), tuple(untold), tuple(unshown))


def due_at(alerts: Sequence[Alert], last_sent: datetime | None, interval: timedelta, timing: Timing) -> datetime:
    """When a group is told: after its wait, and no sooner than an interval after its last message."""
    first = min(_wanted_at(alert, timing) for alert in alerts)
    return first if last_sent is None else max(first, last_sent + interval)


def _wanted_at(alert: Alert, timing: Timing) -> datetime:
    if alert.refresh_at is not None:
        return alert.refresh_at
    return alert.told_at + timing.repeat_interval if alert.told_at else alert.created_at + timing.group_wait


def _interval(group: Group, timing: Timing, *, edits: bool) -> timedelta:
    """A digest that can be edited follows the storm; nobody is called by an edit."""
    return timing.group_wait if edits and group.storm is not None else timing.group_interval


def _closed(alerts: Sequence[Alert]) -> set[int]:
    """Alerts of incidents that nobody heard of and that are over.

    Unheard is an incident whose earlier transitions were all suppressed or held back, and one that was held back
    for its cause and ended while that settled.
    """
    by_incident: dict[UUID, list[Alert]] = defaultdict(list)
    for alert in alerts:
        by_incident[alert.incident.incident_id].append(alert)
    closed: set[int] = set()
    for members in by_incident.values():
        before = [alert for alert in members if alert.incident.transition != "resolved"]
        if len(before) == len(members):
            continue
        unheard = all(alert.held for alert in before) if before else not any(alert.announced for alert in members)
        if unheard:
            closed |= {alert.alert_id for alert in members}
    return closed


def _unseen(alerts: Sequence[Alert]) -> set[int]:
    """Edits that can't be made, where nothing can be edited; a storm's end is told all the same."""
    return {alert.alert_id for alert in alerts if alert.is_silent and alert.group.storm is None}


def _messages(group: Group, alerts: Sequence[Alert], *, edits: bool) -> list[Message]:
    if group.storm is not None:  # one digest, also when some of it may have been told before
        return [Message(tuple(alerts))] if alerts else []
    parts: dict[_Part, list[Alert]] = defaultdict(list)
    for alert in alerts:
        in_doubt = alert.delivery_key if alert.in_doubt_since is not None else None
        parts[_Part(alert.post if edits else None, in_doubt)].append(alert)
    return [Message(tuple(members), post=part.post) for part, members in parts.items()]
