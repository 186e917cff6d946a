"""Names like one that nobody knows: what somebody with a typo may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

NAMED = 3
ALIKE = 0.6  # as `difflib` reckons it, 1 for the same


def nearest(wanted: str, names: Iterable[str], *, alike: float = ALIKE) -> list[str]:
    """The few of `names` that are most like `wanted`, whatever their case, and at least `alike`."""
    by_folded = {name.casefold(): name for name in names}
    return [by_folded[match] for match in get_close_matches(wanted.casefold(), by_folded, n=NAMED, cutoff=alike)]


def meant(names: Iterable[str]) -> str:
    """The question whether one of them was meant; empty for none."""
    found = " or ".join(names)
    return f"did you mean {found}?" if found else ""
