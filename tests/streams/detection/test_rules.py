"""Which rule a metric gets."""

from __future__ import annotations

import pytest

from watchline.schemas.declaration import AnomalyRule
from watchline.streams.detection import Rule, rule_for


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("total_rows", Rule(kind="count", min_absolute_change=5.0)),
        ("inserts", Rule(kind="count", min_absolute_change=5.0)),
        ("updates", Rule(kind="count", min_absolute_change=5.0)),
        ("deletes", Rule(kind="count", min_absolute_change=5.0)),
        ("duration_seconds", Rule(kind="duration", min_absolute_change=3.0)),
        ("throughput", Rule(kind="rate")),
        ("null_ratio", Rule(kind="custom")),
    ],
)
def test_a_metric_without_rules_gets_the_defaults_of_its_kind(metric: str, expected: Rule) -> None:
    assert rule_for(metric, ()) == expected


def test_a_rule_of_its_own_goes_before_the_star() -> None:
    rules = [AnomalyRule(metric="*", sensitivity="low"), AnomalyRule(metric="inserts", sensitivity="high")]

    own, other = rule_for("inserts", rules), rule_for("deletes", rules)

    assert own is not None
    assert other is not None
    assert (own.z_limit, other.z_limit) == (3.5, 5.0)
    assert (own.kind, other.min_absolute_change) == ("count", 5.0)


def test_a_limit_goes_before_the_sensitivity() -> None:
    rule = rule_for("inserts", [AnomalyRule(metric="inserts", sensitivity="low", z_limit=2.5)])

    assert rule is not None
    assert rule.z_limit == 2.5


def test_no_absolute_change_at_all_can_be_asked_for() -> None:
    rule = rule_for("inserts", [AnomalyRule(metric="inserts", min_absolute_change=0.0)])

    assert rule is not None
    assert rule.min_absolute_change == 0.0


def test_a_rule_that_is_switched_off_judges_nothing() -> None:
    off = [AnomalyRule(metric="*", active=False), AnomalyRule(metric="inserts")]

    assert rule_for("deletes", off) is None
    assert rule_for("inserts", off) is not None


def test_all_settings_arrive() -> None:
    declared = AnomalyRule(
        metric="margin", direction="low", min_runs=20, min_relative_change=0.5, min_absolute_change=7.0,
        scale="linear", min_value=-1.0, max_value=9.0,
    )  # fmt: skip

    assert rule_for("margin", [declared]) == Rule("custom", 4.0, "low", 20, 0.5, 7.0, "linear", -1.0, 9.0)
