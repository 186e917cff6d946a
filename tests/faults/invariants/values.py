"""I14, I15, I16: watermarks never go back, every number is finite, every time possible, and memory has a bound."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from faults.invariants.violations import Violation, found

K = TypeVar("K", bound=Hashable)
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(2100, 1, 1, tzinfo=UTC)
GROWTH_IN_TEN_MINUTES = 0.01
MEBIBYTE = 1 << 20


def monotone_watermarks(seen: Iterable[tuple[K, Any]]) -> list[Violation]:
    """I14: what is seen under one key, in the order of seeing, never goes back: watermarks, revisions, offsets."""
    return found("I14", _falls(seen))


def _falls(seen: Iterable[tuple[K, Any]]) -> Iterator[str]:
    highest: dict[K, Any] = {}
    for key, value in seen:
        if key in highest and value < highest[key]:
            yield f"{key} goes back from {highest[key]} to {value}"
        else:
            highest[key] = value


def finite_values(
    values: Iterable[tuple[str, Any]], *, earliest: datetime = EARLIEST, latest: datetime = LATEST
) -> list[Violation]:
    """I15: no NaN, no infinity, no time outside the window; lists and maps are looked into."""
    return found("I15", (f"{where}: {value}" for where, value in _leaves(values) if not _sane(value, earliest, latest)))


def _leaves(values: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for where, value in values:
        if isinstance(value, Mapping):
            yield from _leaves((f"{where}.{name}", part) for name, part in value.items())
        elif isinstance(value, list | tuple):
            yield from _leaves((f"{where}[{at}]", part) for at, part in enumerate(value))
        else:
            yield where, value


def _sane(value: Any, earliest: datetime, latest: datetime) -> bool:
    if isinstance(value, datetime):
        return earliest <= value <= latest
    return not isinstance(value, float) or math.isfinite(value)


def bounded_memory(
    samples: Sequence[tuple[float, int]], *, growth: float = GROWTH_IN_TEN_MINUTES, slack: int = 8 * MEBIBYTE
) -> list[Violation]:
    """I16: resident memory does not grow by more than `growth` of itself in ten minutes, nor by less than `slack`.

    `samples` are seconds and bytes in order. The first half is left out: caches fill, arenas settle.
    """
    late = samples[len(samples) // 2 :]
    if len(late) < 3 or late[-1][0] <= late[0][0]:
        return []
    mean = sum(size for _, size in late) / len(late)
    slope = slope_of(late)
    grown = slope * (late[-1][0] - late[0][0])
    if grown <= slack or slope * 600 <= growth * mean:
        return []
    return found("I16", [f"memory grows by {slope * 60 / MEBIBYTE:.2f} MiB a minute at {mean / MEBIBYTE:.0f} MiB"])


def slope_of(samples: Sequence[tuple[float, int]]) -> float:
    """Bytes a second by least squares."""
    mean_at = sum(at for at, _ in samples) / len(samples)
    mean_size = sum(size for _, size in samples) / len(samples)
    spread = sum((at - mean_at) ** 2 for at, _ in samples)
    return sum((at - mean_at) * (size - mean_size) for at, size in samples) / spread
