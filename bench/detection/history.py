"""A run history with what was done to it: the currency of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Metric = Literal["rows", "duration", "throughput", "deletes"]
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Injected:
    """Runs `start` to `last` (inclusive) that were changed; `optional` ones are neither credited nor punished."""

    kind: str
    start: int
    last: int
    optional: bool = False

    def as_side_effect(self) -> Injected:
        return replace(self, optional=True)


@dataclass(frozen=True, slots=True)
class History:
    """One metric of one pipeline: starts in epoch seconds, values, and the events in them."""

    pipeline: str
    metric: Metric
    starts: list[int]
    values: list[float]
    events: list[Injected]

    @property
    def days(self) -> float:
        return (self.starts[-1] - self.starts[0]) / DAY
