"""How good a detector is: events found, false incidents, false flags a month."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.detection.history import History

ONE_INCIDENT = 3  # false flags at most this many runs apart are one incident


@dataclass(slots=True)
class Tally:
    """Sums over histories; the ratios are properties."""

    found: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    false_flags: int = 0
    false_incidents: int = 0
    days: float = 0.0
    runs: int = 0
    seconds: float = 0.0

    def add(self, history: History, flags: list[bool], seconds: float) -> None:
        """Count one history: an event is found by any flag in it, a flag outside all events is false."""
        excused: set[int] = set()
        for event in history.events:
            runs = range(event.start, event.last + 1)
            excused.update(runs)
            if not event.optional:
                self.events[event.kind] += 1
                self.found[event.kind] += any(flags[run] for run in runs)
        false = [run for run, flag in enumerate(flags) if flag and run not in excused]
        self.false_flags += len(false)
        self.false_incidents += _incidents(false)
        self.days += max(1.0, history.days)
        self.runs += len(flags)
        self.seconds += seconds

    @property
    def precision(self) -> float:
        found = self.found.total()
        return found / max(1, found + self.false_incidents)

    @property
    def recall(self) -> float:
        return self.found.total() / max(1, self.events.total())

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / max(1e-9, self.precision + self.recall)

    def figures(self) -> dict[str, float]:
        """The figures as they are printed."""
        return {
            "p": round(self.precision, 3),
            "r": round(self.recall, 3),
            "f1": round(self.f1, 3),
            "false_per_30d": round(30 * self.false_flags / max(1.0, self.days), 3),
            "us_per_run": round(1e6 * self.seconds / max(1, self.runs), 2),
        }

    def recall_by_kind(self) -> dict[str, float]:
        return {kind: self.found[kind] / count for kind, count in sorted(self.events.items())}


def _incidents(flagged: Iterable[int]) -> int:
    count, previous = 0, None
    for run in flagged:
        if previous is None or run - previous > ONE_INCIDENT:
            count += 1
        previous = run
    return count
