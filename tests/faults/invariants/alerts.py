"""I6, I7, I8: every alert is heard, few of them twice, none that should not be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from typing import TypeVar

from faults.invariants.violations import Violation, found

K = TypeVar("K", bound=Hashable)


def alerts_delivered(expected: Collection[K], heard: Iterable[K]) -> list[Violation]:
    """I6: every alert of the oracle was accepted at least once; `heard` has one entry for each acceptance."""
    told = set(heard)
    return found("I6", (f"never heard of: {alert}" for alert in expected if alert not in told))


def delivered_once(heard: Iterable[K], *, crashes: int) -> list[Violation]:
    """I7: no alert is accepted twice, but for `crashes` between an acceptance and its mark: one more each."""
    often = {alert: count - 1 for alert, count in Counter(heard).items() if count > 1}
    repeated = sum(often.values())
    if repeated <= crashes:
        return []
    return found("I7", [f"{repeated} repetitions for {crashes} crashes", *(f"{a}: {n} more" for a, n in often.items())])


def no_false_alert(expected: Collection[K], heard: Iterable[K]) -> list[Violation]:
    """I8: nothing is heard that the oracle does not say."""
    allowed = set(expected)
    return found("I8", (f"false alert: {alert}" for alert in dict.fromkeys(heard) if alert not in allowed))
