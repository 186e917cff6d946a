"""Which fault comes when: a pure function of a seed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

FAULTS_A_MINUTE = 12
LEAD_SECONDS = 5.0
TAIL_SECONDS = 12.0  # the last fault ends before the run does
PAUSE_SECONDS = 1.5  # between two faults of one part

Needs = Literal["any", "apache", "one node", "cluster"]
FROZEN = (6.5, 8.5)  # longer than a session of the services


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: whom it may hit (one at a time each), for how many seconds, and how often it is dealt."""

    name: str
    hits: tuple[str, ...]
    lasts: tuple[float, float]
    needs: Needs = "any"
    shares: int = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: from second `at` of the run, for `seconds`."""

    number: int
    at: float
    kind: str
    hits: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.at:7.1f} s  {self.kind:<24} {self.hits:<16} {self.seconds:4.1f} s"


WORKERS, SINKS = ("worker 1", "worker 2"), ("sink 1",)
KINDS = (
    Kind("worker killed", WORKERS, (0.2, 2.0), "apache", shares=4),
    Kind("worker stopped", WORKERS, (0.2, 2.0), "apache", shares=3),
    Kind("worker frozen", WORKERS, FROZEN, "apache", shares=3),
    Kind("worker joins and leaves", ("worker 3",), (3.0, 6.0), "apache", shares=3),
    Kind("worker joins and dies", ("worker 3",), (3.0, 6.0), "apache"),
    Kind("sink killed", SINKS, (0.2, 2.0), shares=3),
    Kind("sink stopped", SINKS, (0.2, 2.0)),
    Kind("sink frozen", SINKS, FROZEN),
    Kind("sink joins and leaves", ("sink 2",), (3.0, 6.0)),
    Kind("sink joins and dies", ("sink 2",), (3.0, 6.0)),
    Kind("notifier killed", ("notifier",), (0.2, 2.0), shares=3),
    Kind("notifier stopped", ("notifier",), (0.2, 2.0)),
    Kind("notifier frozen", ("notifier",), (3.0, 5.0)),
    Kind("broker killed", ("broker",), (0.5, 2.0), "one node"),
    Kind("broker restarted", ("broker",), (0.5, 2.0), "one node"),
    Kind("node killed", ("broker",), (3.0, 8.0), "cluster", shares=5),
    Kind("node restarted", ("broker",), (1.0, 4.0), "cluster", shares=3),
    Kind("Postgres killed", ("Postgres",), (0.2, 2.0), shares=3),
    Kind("Postgres restarted", ("Postgres",), (0.2, 2.0)),
    Kind("sink cut from Postgres", ("sink link",), (1.0, 4.0)),
    Kind("sink deaf to Postgres", ("sink link",), (1.0, 4.0), shares=1),
    Kind("answers to sends lost", ("Kafka link",), (1.0, 3.0), "one node", shares=3),
    Kind("all cut from Kafka", ("Kafka link",), (1.0, 3.0), "one node"),
    Kind("Kafka slow", ("Kafka link",), (2.0, 4.0), "one node", shares=1),
    Kind("changelog blocked", ("Kafka link",), (2.0, 5.0), "one node", shares=3),
    Kind("Slack says 429", ("Slack",), (1.0, 4.0)),
    Kind("Slack says 500", ("Slack",), (1.0, 4.0)),
    Kind("Slack hangs", ("Slack",), (2.0, 5.0)),
    Kind("Slack resets", ("Slack",), (1.0, 4.0), shares=1),
    Kind("duplicates", ("load",), (2.0, 5.0)),
    Kind("shuffled windows", ("load",), (2.0, 5.0)),
    Kind("poison", ("load",), (2.0, 5.0)),
)


def kinds_for(*, apache: bool, nodes: int) -> tuple[Kind, ...]:
    """What a broker allows; on the embedded one no worker can be ended, since its tables come back short."""
    allowed = {"any", *(("apache",) if apache else ())}
    if apache:
        allowed.add("one node" if nodes == 1 else "cluster")
    return tuple(kind for kind in KINDS if kind.needs in allowed)


def schedule(seed: int, minutes: float, allowed: Collection[Kind]) -> tuple[Fault, ...]:
    """Faults in the order of their time; the same for the same arguments.

    Kinds are dealt like cards, each as often as it has shares before the deck is shuffled anew, so that none is left
    out of a run of some minutes. No two faults hit the same part at the same time; different parts suffer together.
    """
    random = Random(seed)
    count = max(1, round(minutes * FAULTS_A_MINUTE))
    gap = (minutes * 60 - LEAD_SECONDS - TAIL_SECONDS) / count
    free_at: dict[str, float] = {}
    deck: list[Kind] = []
    faults = []
    for number in range(count):
        at = round(LEAD_SECONDS + (number + random.uniform(0, 0.8)) * gap, 1)
        kind, hits, at = _deal(deck, allowed, random, free_at, at)
        seconds = round(random.uniform(*kind.lasts), 1)
        free_at[hits] = at + seconds + PAUSE_SECONDS
        faults.append(Fault(number + 1, at, kind.name, hits, seconds))
    return tuple(sorted(faults, key=lambda fault: fault.at))


def _deal(
    deck: list[Kind], allowed: Collection[Kind], random: Random, free_at: dict[str, float], at: float
) -> tuple[Kind, str, float]:
    """The first card of the deck whose part is at peace, that part, and when; a deck without one is dealt anew."""
    while True:
        for card in deck:
            targets = list(_free(card, free_at, at))
            if targets:
                deck.remove(card)
                return card, random.choice(targets), round(at, 1)
        fresh = [kind for kind in allowed for _ in range(kind.shares)]
        if not any(True for kind in fresh for _ in _free(kind, free_at, at)):
            at += PAUSE_SECONDS  # all parts suffer: take the one that is at peace next
            continue
        random.shuffle(fresh)
        deck.extend(fresh)


def _free(kind: Kind, free_at: dict[str, float], at: float) -> Iterator[str]:
    return (part for part in kind.hits if free_at.get(part, 0.0) <= at)
