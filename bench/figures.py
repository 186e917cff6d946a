"""What a benchmark found: one figure per round, the budget that it is read against, and how that was met."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest of `values` that at least `share` (0 to 1) of them do not exceed: the nearest rank."""
    if not values:
        raise ValueError("there is no percentile of nothing")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured quantity: `values` holds a figure per round, `limit` its budget, None when there is none.

    With `at_least` the budget is a floor, else a ceiling. `ratio` compares with something else of the same run.
    """

    what: str
    unit: str
    values: tuple[float, ...]
    limit: float | None = None
    at_least: bool = False
    ratio: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def met(self) -> bool | None:
        """Whether the median keeps the budget; None without one."""
        if self.limit is None:
            return None
        return self.median >= self.limit if self.at_least else self.median <= self.limit

    @property
    def verdict(self) -> str:
        return {None: "no budget", True: "met", False: "not met"}[self.met]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Self:
        """The figure that `as_json` made a dictionary of."""
        return cls(**{**found, "values": tuple(found["values"])})

    def as_json(self) -> dict[str, Any]:
        """The fields, and what follows from them."""
        return {**asdict(self), "values": list(self.values)}


def text_of(value: float) -> str:
    """Three digits that count, thousands set apart."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    rounded = float(f"{value:.3g}")
    return f"{rounded:.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def measured_text(figure: Figure) -> str:
    """`median (lowest–highest) unit`; the range only when there is more than one round."""
    low, high = min(figure.values), max(figure.values)
    spread = f" ({text_of(low)}–{text_of(high)})" if len(figure.values) > 1 else ""
    return f"{text_of(figure.median)}{spread} {figure.unit}"


def budget_text(figure: Figure) -> str:
    """`at most 8 KB`, or nothing."""
    if figure.limit is None:
        return ""
    return f"{'at least' if figure.at_least else 'at most'} {figure.limit:,g} {figure.unit}"


def ratio_text(figure: Figure) -> str:
    """What the figure is compared with in its own run; else how much of its budget it takes."""
    if figure.ratio or not figure.limit:
        return figure.ratio
    return f"{figure.median / figure.limit:.0%} of the budget"


def all_of(found: Iterable[Mapping[str, Any]]) -> list[Figure]:
    """Figures that came as JSON."""
    return [Figure.of(each) for each in found]
