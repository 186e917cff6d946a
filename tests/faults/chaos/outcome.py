"""What is to be played, and what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from faults.chaos.probes import Recovery
from faults.chaos.schedule import Fault
from faults.invariants.progress import Recovery as Rest
from faults.invariants.violations import Violation


@dataclass(frozen=True, slots=True)
class Plan:
    """What to play."""

    minutes: float
    seed: int
    faults: Sequence[Fault]
    apache: bool
    nodes: int = 1
    rate: int = 500
    environment: Mapping[str, str] = field(default_factory=dict)  # more of it for the services


@dataclass
class Outcome:
    """What was seen."""

    plan: Plan
    violations: list[Violation] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    rest: Rest = field(default_factory=lambda: Rest(float("inf"), float("inf")))
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # of load
    slowest_canary: float = 0.0
    longest_stop: float = 0.0
    gave_up: list[str] = field(default_factory=list)
    refused: int = 0
    unjudged: dict[str, str] = field(default_factory=dict)  # invariants that this run could not look at, and why
    memory: dict[str, int] = field(default_factory=dict)  # the most that each kind of process held

    @property
    def rate(self) -> float:
        """Acknowledged events a second."""
        return self.counts["acknowledged"] / self.seconds if self.seconds else 0.0
