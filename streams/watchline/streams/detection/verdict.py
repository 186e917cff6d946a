"""What was judged, and why."""

from __future__ import annotations

from math import exp, sqrt
from typing import Literal

import msgspec

from watchline.streams.detection.rules import Rule
from watchline.streams.detection.scale import from_scale

Reason = Literal["point", "sustained", "zero", "static"]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The judgement of one run; the range is worked out when asked for, since few verdicts are shown.

    `score` is the z of the run, `baseline_runs` the number of runs learnt before it, `shifted` says that a new level
    was adopted with this run. `token` (flagged and learnt runs only, else empty) is what feedback on it needs.
    `expected`, `lower` and `upper` are None before the first run.
    """

    rule: Rule
    value: float
    score: float = 0.0
    flagged: bool = False
    reason: Reason | None = None
    shifted: bool = False
    warming_up: bool = False
    baseline_runs: int = 0
    seasons: tuple[str, ...] = ()
    expected: float | None = None
    centre: float = 0.0  # expected, on the scale of the rule
    deviation: float = 0.0  # standard error of one run around it
    freedom: float = 2.0  # degrees of freedom of the score
    token: bytes = b""

    @property
    def limit(self) -> float:
        """The |score| from which a run is flagged."""
        return self.rule.z_limit

    @property
    def lower(self) -> float | None:
        """Values below are flagged (if the direction allows): the limit, or the least change if that is further."""
        return self._edge(-1.0)

    @property
    def upper(self) -> float | None:
        """Values above are flagged (if the direction allows): the limit, or the least change if that is further."""
        return self._edge(1.0)

    def _edge(self, side: float) -> float | None:
        if self.expected is None:
            return None
        reach = self.deviation * _t_of(self.rule.z_limit, self.freedom)
        edge = from_scale(self.centre + side * reach, self.rule.kind, self.rule.scale)
        least = self.expected + side * least_change(self.rule, self.expected)
        if self.rule.scale == "log" and self.rule.kind != "custom":
            least = max(0.0, least)
        return min(edge, least) if side < 0 else max(edge, least)


def least_change(rule: Rule, expected: float) -> float:
    """The change below which a run is never flagged, in the metric's own unit."""
    return max(rule.min_absolute_change, rule.min_relative_change * abs(expected))


def _t_of(z: float, freedom: float) -> float:
    """The t whose score is z: the inverse of Wallace's approximation."""
    scaled = z * (8.0 * freedom + 3.0) / (8.0 * freedom + 1.0)
    return sqrt(freedom * (exp(scaled * scaled / freedom) - 1.0))
