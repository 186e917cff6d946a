from datetime import UTC, datetime, timedelta

import pytest

from watchline.cli.doctor.check import (
    Outcome,
    judge_alerts,
    judge_clock,
    judge_ingestion,
    judge_lag,
    judge_permission,
    judge_schema,
    judge_slack,
    judge_topics,
)
from watchline.consumers.watch.health import Cause

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("skew", "outcome"), [(0.2, "ok"), (-4.9, "ok"), (6.0, "warn"), (-6.0, "warn"), (301.0, "fail"), (-301.0, "fail")]
)
def test_a_clock_is_judged_in_both_directions(skew: float, outcome: Outcome) -> None:
    assert judge_clock(skew).outcome == outcome


@pytest.mark.parametrize(("behind", "outcome"), [(0, "ok"), (10_000, "ok"), (10_001, "warn"), (None, "warn")])
def test_a_long_way_behind_is_a_warning(behind: int | None, outcome: Outcome) -> None:
    assert judge_lag("sink", behind).outcome == outcome


@pytest.mark.parametrize(("applied", "outcome"), [("0002", "ok"), ("0001", "fail"), (None, "fail")])
def test_an_older_schema_fails_and_says_what_to_run(applied: str | None, outcome: Outcome) -> None:
    check = judge_schema(applied, "0002")

    assert check.outcome == outcome
    assert (check.hint is None) == (outcome == "ok")


def test_a_user_needs_the_rights_of_one_role_and_each_that_is_missing_is_named() -> None:
    check = judge_permission("reader", {"writer": ["insert on runs", "select on runs"], "notifier": ["update on x"]})

    assert check.outcome == "fail"
    assert "insert on runs, select on runs; of notifier: update on x" in check.detail
    assert judge_permission("sink", {"writer": [], "notifier": ["update on x"]}).outcome == "ok"


def test_a_topic_problem_fails() -> None:
    assert judge_topics(["topic x is missing"], 8).outcome == "fail"
    assert judge_topics([], 8).outcome == "ok"


def test_no_webhook_and_alerts_given_up_are_warnings() -> None:
    assert judge_slack(configured=False).outcome == "warn"
    assert judge_slack(configured=True).outcome == "ok"
    assert judge_alerts(pending=5, failed=1).outcome == "warn"
    assert judge_alerts(pending=5, failed=0).outcome == "ok"


def test_alerts_that_are_held_are_counted() -> None:
    assert "7 held while ingestion is ill" in judge_alerts(pending=5, failed=0, held=7).detail


def test_ingestion_says_which_partition_is_how_far_behind() -> None:
    late = Cause("delayed", NOON, 3, behind=timedelta(minutes=4))

    check = judge_ingestion([late], fresh=False, partitions=8)

    assert (check.outcome, check.detail) == ("warn", "partition 3 is 4 min behind")


def test_a_silent_partition_fails_and_no_pulse_at_all_is_a_warning() -> None:
    silent = Cause("silent", NOON, 3)

    assert judge_ingestion([silent], fresh=False, partitions=8).outcome == "fail"
    assert judge_ingestion([], fresh=False, partitions=0).outcome == "warn"
    assert judge_ingestion([], fresh=True, partitions=8).outcome == "ok"
