"""Feeding a target for a while: what leads somewhere new is kept, and made more of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from random import Random

from fuzzing.mutation import Mutator
from fuzzing.shrinking import shrink
from fuzzing.targets import Target


@dataclass(frozen=True, slots=True)
class Broken:
    """An input that breaks a promise, as small as it could be made, and how."""

    target: str
    raw: bytes
    error: str


@dataclass(slots=True)
class Engine:
    """Feeds one target; the same seed gives the same inputs."""

    target: Target
    seed: int
    examples: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    kinds: set[Hashable] = field(default_factory=set)
    mutator: Mutator = field(init=False)
    ready: list[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.ready = list(self.target.seeds())
        self.mutator = Mutator(self.ready, Random(f"{self.target.name} {self.seed}"))

    def feed(self, number: int) -> Broken | None:
        """Feed that many inputs, the seeds first; the first that breaks a promise."""
        for _ in range(number):
            raw = self.ready.pop() if self.ready else self.mutator.draw()
            self.examples += 1
            try:
                outcome = self.target.feed(raw)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what we look for
                return self._report(raw, error)
            self.reasons[outcome.reason or "taken"] += 1
            if outcome.kind not in self.kinds:
                self.kinds.add(outcome.kind)
                self.mutator.learn(raw)
        return None

    def _report(self, raw: bytes, error: Exception) -> Broken:
        def fails(candidate: bytes) -> bool:
            return type(error_of(self.target, candidate)) is type(error)

        smallest = shrink(raw, fails)
        return Broken(self.target.name, smallest, repr(error_of(self.target, smallest)))


def error_of(target: Target, raw: bytes) -> Exception | None:
    """What the target raises that it must not."""
    try:
        target.feed(raw)
    except Exception as error:  # noqa: BLE001 - see above
        return error
    return None
