"""What is told: alerts, the messages that they make, and the posts that messages have become."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from watchline.schemas.records import IncidentRecord


class Group(NamedTuple):
    """Alerts that are told together: those of a pipeline and an owner, or of a storm."""

    pipeline: str
    owner: str | None
    storm: int | None = None


class Post(NamedTuple):
    """A message as Slack holds it: `channel` as we call it, `channel_id` and `ts` as Slack does."""

    channel: str
    channel_id: str
    ts: str


@dataclass(frozen=True, slots=True)
class Storm:
    """A time with too many incidents to tell one by one; `ended_at` is None while it lasts."""

    storm_id: int
    began_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class HeldBack:
    """Late pipelines downstream that nobody is told of while this incident is open: how many, and some of them."""

    count: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alert:
    """One row of the outbox: a transition of an incident that somebody has to hear of.

    `told_at` is set on a reminder: an alert that was told and whose incident is still open. `announced` is
    False when all earlier transitions of its incident were suppressed, so that nobody knows of the incident.
    `quiet` is a transition that changes a post and calls nobody; `refresh_at` is set when the post of a told one
    has to be brought up to date. `held`: it was held back for its cause, which is over. `in_doubt_since` is when a
    delivery, `delivery_key`, began whose end is unknown; `unanswered` counts those after which we died.
    """

    alert_id: int
    incident: IncidentRecord
    created_at: datetime
    attempts: int = 0
    told_at: datetime | None = None
    announced: bool = True
    quiet: bool = False
    held: bool = False
    storm_id: int | None = None
    post: Post | None = None
    refresh_at: datetime | None = None
    delivery_key: UUID | None = None
    in_doubt_since: datetime | None = None
    unanswered: int = 0
    held_back: HeldBack | None = None

    @property
    def group(self) -> Group:
        if self.storm_id is not None:
            return Group("", None, self.storm_id)
        return Group(self.incident.pipeline, self.incident.owner)

    @property
    def is_silent(self) -> bool:
        """Whether nobody is called for it."""
        return self.quiet or self.refresh_at is not None

    @property
    def is_reminder(self) -> bool:
        """Whether people have heard it before."""
        return self.told_at is not None and self.refresh_at is None


@dataclass(frozen=True, slots=True)
class Message:
    """Alerts of one message, oldest first.

    `post` is the message that they change. `company` are the newest transitions of all incidents of that post, or
    of the storm, and `storm` is set for a digest: both are known only once the message is about to be sent.
    """

    alerts: tuple[Alert, ...]
    post: Post | None = None
    company: tuple[Alert, ...] = ()
    storm: Storm | None = None

    @property
    def alert_ids(self) -> list[int]:
        return [alert.alert_id for alert in self.alerts]

    @property
    def attempts(self) -> int:
        return max(alert.attempts for alert in self.alerts)

    @property
    def oldest_at(self) -> datetime:
        """When the first of these alerts began to wait for this message."""
        return min(alert.told_at or alert.created_at for alert in self.alerts)

    @property
    def in_doubt_since(self) -> datetime | None:
        """When it may have been sent before; None when it was not."""
        return min((each.in_doubt_since for each in self.alerts if each.in_doubt_since is not None), default=None)

    @property
    def unanswered(self) -> int:
        """How often somebody died over sending it."""
        return max(alert.unanswered for alert in self.alerts)

    @property
    def delivery(self) -> UUID:
        """The same for the same transitions told for the same time, so that a post can be known again."""
        for alert in self.alerts:
            if alert.in_doubt_since is not None and alert.delivery_key is not None:
                return alert.delivery_key
        parts = (f"{each.incident.incident_id}:{each.incident.transition_no}:{each.told_at}" for each in self.alerts)
        return uuid5(NAMESPACE_URL, "watchline.delivery " + " ".join(parts))

    @property
    def news(self) -> tuple[Alert, ...]:
        """The alerts that say something new, or again: all but those that only bring the post up to date."""
        return tuple(alert for alert in self.alerts if alert.refresh_at is None)

    @property
    def calls(self) -> bool:
        """Whether somebody has to be called although the post is there: a reminder, or an incident got worse."""
        return any(alert.is_reminder or (_got_worse(alert) and not alert.is_silent) for alert in self.alerts)


def _got_worse(alert: Alert) -> bool:
    return alert.incident.transition == "updated"
