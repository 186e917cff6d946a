"""I18, I19: at any moment rows and offsets agree, and who lost a partition writes nothing into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from aiokafka import TopicPartition

from faults.invariants.violations import Violation, found

Kind = Literal["run", "anomaly", "transition", "letter"]


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of `sink_offsets`."""

    topic: str
    partition: int
    fence: int
    next_offset: int


@dataclass(frozen=True, slots=True)
class Tally:
    """What is stored of one pipeline: how many runs and the sum of their revisions, and of what else how many."""

    runs: int = 0
    revisions: int = 0
    anomalies: int = 0
    transitions: int = 0
    superseded: int = 0  # ends that the sink itself gave, maybe in place of one from the log


@dataclass(frozen=True, slots=True)
class Moment:
    """One snapshot: offsets, what is stored of each pipeline that is watched, and rows that contradict each other."""

    standings: tuple[Standing, ...]
    tallies: Mapping[str, Tally]
    letters: int = 0
    torn: tuple[str, ...] = ()


class Said(NamedTuple):
    """One record of an output topic: what the sink must hold once its offset is passed."""

    offset: int
    kind: Kind
    pipeline: str  # "" for a dead letter
    identity: object
    revision: int = 0


@dataclass(slots=True)
class Held:
    """What the log says of one pipeline, up to some offsets."""

    revisions: dict[object, int] = field(default_factory=dict)
    total: int = 0
    anomalies: set[object] = field(default_factory=set)
    transitions: set[object] = field(default_factory=set)

    def take(self, said: Said) -> None:
        if said.kind == "run":
            before = self.revisions.get(said.identity, 0)
            self.revisions[said.identity] = max(before, said.revision)
            self.total += max(0, said.revision - before)
        else:
            (self.anomalies if said.kind == "anomaly" else self.transitions).add(said.identity)


def atomic_visibility(moments: Iterable[Moment], log: Mapping[TopicPartition, Iterable[Said]]) -> list[Violation]:
    """I18: each snapshot, in their order, holds just what the log says below its offsets, and no half of anything.

    `log` holds the records of the outputs in their order; only those of pipelines that were watched are needed.
    """
    return found("I18", _disagreements(moments, {place: iter(said) for place, said in log.items()}))


def _disagreements(moments: Iterable[Moment], log: Mapping[TopicPartition, Iterator[Said]]) -> Iterator[str]:
    reading = Reading(log)
    for number, moment in enumerate(moments):
        yield from (f"moment {number}: {torn}" for torn in moment.torn)
        reading.read_to(moment.standings)
        for pipeline, tally in moment.tallies.items():
            wrong = contradiction(tally, reading.held.get(pipeline, Held()))
            if wrong:
                yield f"moment {number}: of {pipeline} {wrong}"
        if moment.letters != len(reading.letters):
            yield f"moment {number}: {moment.letters} dead letters are stored, the log has {len(reading.letters)}"


def contradiction(tally: Tally, held: Held) -> str | None:
    """What is stored of a pipeline and not said, or the other way round."""
    if (tally.runs, tally.revisions) != (len(held.revisions), held.total):
        return f"{tally.runs} runs of revisions {tally.revisions}, the log has {len(held.revisions)} of {held.total}"
    if tally.anomalies != len(held.anomalies):
        return f"{tally.anomalies} anomalies, the log has {len(held.anomalies)}"
    if not 0 <= len(held.transitions) - tally.transitions <= tally.superseded:
        return f"{tally.transitions} transitions, the log has {len(held.transitions)}"
    return None


class Reading:
    """Goes through the log beside the moments, forward only."""

    def __init__(self, log: Mapping[TopicPartition, Iterator[Said]]) -> None:
        self.held: dict[str, Held] = {}
        self.letters: set[object] = set()
        self._log = log
        self._ahead: dict[TopicPartition, Said] = {}

    def read_to(self, standings: Iterable[Standing]) -> None:
        """Take everything below the offsets."""
        for one in standings:
            place = TopicPartition(one.topic, one.partition)
            while (said := self._next(place)) is not None:
                if said.offset >= one.next_offset:
                    self._ahead[place] = said
                    break
                self._take(said)

    def _next(self, place: TopicPartition) -> Said | None:
        return self._ahead.pop(place, None) or next(self._log.get(place, iter(())), None)

    def _take(self, said: Said) -> None:
        if said.kind == "letter":
            self.letters.add(said.identity)
        else:
            self.held.setdefault(said.pipeline, Held()).take(said)


class Write(NamedTuple):
    """A change of a row of `sink_offsets`, and the connection that made it."""

    place: TopicPartition
    fence: int
    next_offset: int
    writer: int


def fenced(writes: Iterable[Write]) -> list[Violation]:
    """I19: only who took a partition over last, under the highest fence, moves its offset, and only forward."""
    return found("I19", _intrusions(writes))


def _intrusions(writes: Iterable[Write]) -> Iterator[str]:
    last: dict[TopicPartition, Write] = {}
    for write in writes:
        before = last.get(write.place)
        if before is not None:
            if write.fence < before.fence or write.next_offset < before.next_offset:
                yield f"{write.place}: {before} was followed by {write}"
            elif write.fence == before.fence and write.writer != before.writer:
                yield f"{write.place}: {write.writer} wrote under fence {write.fence} of {before.writer}"
        last[write.place] = write


def fences_hold(moments: Iterable[Moment]) -> list[Violation]:
    """I19, as far as snapshots show it: fences and offsets only grow."""
    return fenced(
        Write(TopicPartition(one.topic, one.partition), one.fence, one.next_offset, 0)
        for moment in moments
        for one in moment.standings
    )
