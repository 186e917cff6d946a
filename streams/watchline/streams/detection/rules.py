"""Which rule a metric is judged by: what its owner declared, over the defaults of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from watchline.schemas.declaration import AnomalyRule

MetricKind = Literal["count", "duration", "rate", "custom"]
Direction = Literal["both", "high", "low"]
Scale = Literal["log", "linear"]

KINDS: dict[str, MetricKind] = {
    "duration_seconds": "duration",
    "inserts": "count",
    "updates": "count",
    "deletes": "count",
    "total_rows": "count",
    "throughput": "rate",
}
Z_LIMITS = {"low": 5.0, "normal": 4.0, "high": 3.5}
# Below these moves nobody wants to be called: rows, seconds.
MIN_ABSOLUTE_CHANGES: dict[MetricKind, float] = {"count": 5.0, "duration": 3.0, "rate": 0.0, "custom": 0.0}


class Rule(msgspec.Struct, frozen=True):
    """How one metric is judged; changes are in the metric's own unit or a fraction of what is expected."""

    kind: MetricKind = "custom"
    z_limit: float = 4.0
    direction: Direction = "both"
    min_runs: int = 10
    min_relative_change: float = 0.2
    min_absolute_change: float = 0.0
    scale: Scale = "log"
    min_value: float | None = None
    max_value: float | None = None


def rule_for(metric: str, rules: Sequence[AnomalyRule]) -> Rule | None:
    """The rule of *metric*: its own, else that of `*`, else the defaults; None when it is switched off."""
    kind = KINDS.get(metric, "custom")
    named = {rule.metric: rule for rule in reversed(rules)}
    declared = named.get(metric) or named.get("*")
    if declared is None:
        return Rule(kind=kind, min_absolute_change=MIN_ABSOLUTE_CHANGES[kind])
    return _compile(kind, declared) if declared.active else None


def _compile(kind: MetricKind, declared: AnomalyRule) -> Rule:
    least = declared.min_absolute_change
    return Rule(
        kind=kind,
        z_limit=Z_LIMITS[declared.sensitivity] if declared.z_limit is None else declared.z_limit,
        direction=declared.direction,
        min_runs=declared.min_runs,
        min_relative_change=declared.min_relative_change,
        min_absolute_change=MIN_ABSOLUTE_CHANGES[kind] if least is None else least,
        scale=declared.scale,
        min_value=declared.min_value,
        max_value=declared.max_value,
    )
