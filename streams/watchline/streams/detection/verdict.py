"""What was judged, and why."""

from __future__ import annotations

from sys import float_info
from typing import Literal

import msgspec

from watchline.streams.detection.rules import Rule
from watchline.streams.detection.scale import from_scale
from watchline.streams.detection.score import Score, reach

Reason = Literal["point", "sustained", "zero", "static"]


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The judgement of one run; the range is worked out when asked for, since few verdicts are shown.

    `baseline_runs` is the number of runs learnt before it, `shifted` says that a new level was adopted with
    this run. While warming up only static limits flag, and there is no range. `token` is what feedback on the run
    needs: empty unless it was both flagged and learnt.
    """

    rule: Rule
    value: float
    scored: Score | None  # None before the first run, and for a value that isn't finite
    reason: Reason | None
    shifted: bool
    warming_up: bool
    baseline_runs: int
    seasons: tuple[str, ...] = ()
    token: bytes = b""

    @property
    def flagged(self) -> bool:
        """Whether the run is an anomaly; `reason` says of which kind."""
        return self.reason is not None

    @property
    def score(self) -> float:
        """The z of the run: what `limit` is compared with."""
        return self.scored.z if self.scored else 0.0

    @property
    def expected(self) -> float | None:
        """The expected value, in the metric's own unit."""
        return self.scored.expected if self.scored else None

    @property
    def limit(self) -> float:
        """The |score| from which a run is flagged."""
        return self.rule.z_limit

    @property
    def lower(self) -> float | None:
        """Values below are flagged (if the direction allows): z limit or least change, the further one."""
        return self._edge(-1.0)

    @property
    def upper(self) -> float | None:
        """Values above are flagged (if the direction allows): z limit or least change, the further one."""
        return self._edge(1.0)

    def _edge(self, side: float) -> float | None:
        if self.scored is None or self.warming_up:
            return None
        rule, scored = self.rule, self.scored
        away = side * reach(scored, self.baseline_runs, rule.z_limit, above=side > 0.0)
        edge = from_scale(scored.centre + away, rule.kind, rule.scale)
        least = scored.expected + side * least_change(rule, scored.expected)
        if rule.scale == "log" and rule.kind != "custom":
            least = max(0.0, least)
        further = min(edge, least) if side < 0.0 else max(edge, least)
        return max(-float_info.max, min(float_info.max, further))


def least_change(rule: Rule, expected: float) -> float:
    """The change below which a run is never flagged, in the metric's own unit."""
    relative, absolute = rule.min_relative_change * abs(expected), rule.min_absolute_change
    return relative if relative > absolute else absolute
