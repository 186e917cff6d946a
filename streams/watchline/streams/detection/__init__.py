"""What is normal for a metric, and whether a run departs from it: pure functions over a small state."""

from __future__ import annotations

from watchline.streams.detection.baseline import Baseline
from watchline.streams.detection.feedback import accept_as_normal, confirm, forgive
from watchline.streams.detection.judge import judge
from watchline.streams.detection.packing import pack, unpack
from watchline.streams.detection.rules import Rule, rule_for
from watchline.streams.detection.score import quantile
from watchline.streams.detection.verdict import Verdict

__all__ = [
    "Baseline", "Rule", "Verdict",
    "accept_as_normal", "confirm", "forgive", "judge", "pack", "quantile", "rule_for", "unpack",
]  # fmt: skip
