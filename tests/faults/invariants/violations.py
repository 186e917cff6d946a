"""What an invariant finds: sentences that say which record is wrong, and how."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Violation:
    """One breach: the number of the invariant in reliability.md (`I1`), and what was seen."""

    invariant: str
    what: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


def found(invariant: str, sentences: Iterable[str]) -> list[Violation]:
    """The first violations, and how many more there are: a broken run has one a record."""
    rest = iter(sentences)
    shown = [Violation(invariant, sentence) for sentence in islice(rest, SHOWN)]
    more = sum(1 for _ in rest)
    return shown + ([Violation(invariant, f"and {more} more")] if more else [])


def assert_none(*groups: Iterable[Violation]) -> None:
    """Fail with every violation in `groups`."""
    broken = [str(violation) for group in groups for violation in group]
    assert not broken, "\n".join(broken)
