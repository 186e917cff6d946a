"""The whole night in the order in which the log takes it: pulses every minute, and the events of all stories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from watchline.cli.demo.night.clock import Night
from watchline.cli.demo.night.quiet import daylight_saving, outage
from watchline.cli.demo.night.telling import Due, Outcome, Sent, Story
from watchline.cli.demo.night.troubles import hung_run, lost_host, missed_start, retried_failure
from watchline.cli.demo.night.upstream import late_upstream
from watchline.schemas.events import PipelineDeclared

PULSE = timedelta(seconds=60)
SETTLE = timedelta(seconds=300)
DELIVERY = timedelta(seconds=20)  # after Kafka is back, until what waited in outboxes has come
STORIES = (missed_start, hung_run, lost_host, late_upstream, daylight_saving, outage, retried_failure)


@dataclass(frozen=True, slots=True)
class Script:
    """What is played, and what must come of it."""

    night: Night
    stories: tuple[Story, ...]

    @property
    def declared(self) -> list[PipelineDeclared]:
        return [each for story in self.stories for each in story.declared]

    @property
    def outcomes(self) -> list[Outcome]:
        return sorted((each for story in self.stories for each in story.outcomes), key=lambda one: one.opened_at)

    @property
    def dues(self) -> list[Due]:
        return [each for story in self.stories for each in story.dues]

    def steps(self) -> list[Sent | datetime]:
        """Events, and pulses as datetimes, in the order of their arrival; a pulse comes after what it could see."""
        sent = [deliver(each, self.night.outage) for story in self.stories for each in story.sent]
        timed = [(each.arrives, each.event.occurred_at, 0, each) for each in sent]
        ordered: list[tuple[datetime, datetime, int, Sent | datetime]] = [*timed]
        ordered += [(at, at, 1, at) for at in pulses(self.night)]
        return [step for *_, step in sorted(ordered, key=lambda one: one[:3])]


def write_script(night: Night) -> Script:
    """The script of `night` with all stories."""
    return Script(night, tuple(story(night) for story in STORIES))


def deliver(sent: Sent, away: tuple[datetime, datetime]) -> Sent:
    """What is sent while Kafka is away waits in its outbox until it is back."""
    begins, ends = away
    return replace(sent, arrives=ends + DELIVERY) if begins <= sent.arrives < ends else sent


def pulses(night: Night) -> Iterator[datetime]:
    """Every minute of the night but those in which Kafka is away."""
    begins, ends = night.outage
    at = night.begins
    while at <= night.ends:
        if not begins <= at < ends:
            yield at
        at += PULSE


def chapters(steps: Sequence[Sent | datetime], pauses: Sequence[datetime]) -> Iterator[list[Sent | datetime]]:
    """Cut the night behind the pulses at `pauses`; each chapter ends with such a pulse, the last one with the night."""
    chapter: list[Sent | datetime] = []
    for step in steps:
        chapter.append(step)
        if isinstance(step, datetime) and step in pauses:
            yield chapter
            chapter = []
    if chapter:
        yield chapter
