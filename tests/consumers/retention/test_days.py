"""From when on rows are kept, when a pass is due, and what the environment may say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from pydantic import ValidationError

from watchline.consumers.retention.days import DAY, cutoff, next_pass, reconcile
from watchline.consumers.retention.plan import COUNTED, TABLES, chosen_tables
from watchline.consumers.retention.settings import RetentionSettings

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
MIDNIGHT = NOON.replace(hour=0)


@pytest.mark.parametrize("now", [MIDNIGHT, NOON, MIDNIGHT + DAY - timedelta(microseconds=1)])
def test_whole_days_are_kept_besides_the_present_one(now: datetime) -> None:
    assert cutoff(now, 90) == datetime(2025, 12, 29, tzinfo=UTC)


def test_the_days_are_those_of_utc_wherever_the_clock_is() -> None:
    tokyo = timezone(timedelta(hours=9))

    assert cutoff(datetime(2026, 3, 30, 8, 59, tzinfo=tokyo), 1) == MIDNIGHT - DAY
    assert next_pass(datetime(2026, 3, 30, 8, 59, tzinfo=tokyo), NOON, 3) == MIDNIGHT + DAY + timedelta(hours=3)


@pytest.mark.parametrize(
    ("pruned_at", "due"),
    [
        (MIDNIGHT + timedelta(hours=2, minutes=59), MIDNIGHT + timedelta(hours=3)),
        (MIDNIGHT + timedelta(hours=3), MIDNIGHT + timedelta(hours=27)),
        (MIDNIGHT + timedelta(hours=23), MIDNIGHT + timedelta(hours=27)),
        (MIDNIGHT - 9 * DAY, MIDNIGHT - 9 * DAY + timedelta(hours=3)),  # what was slept through is due at once
    ],
)
def test_a_pass_is_due_at_the_first_hour_after_the_last_one(pruned_at: datetime, due: datetime) -> None:
    assert next_pass(pruned_at, MIDNIGHT - 99 * DAY, 3) == due


def test_the_first_pass_leaves_a_day_to_choose_other_settings() -> None:
    assert next_pass(None, NOON, 13) == NOON + DAY + timedelta(hours=1)
    assert next_pass(None, NOON, 12) == NOON + 2 * DAY


def test_what_could_be_told_anew_stays_and_an_incident_stays_as_long_as_its_history() -> None:
    days = {"incident_events": 30, "alert_outbox": 50, "incidents": 40, "runs": 1}

    assert reconcile(days, timedelta(0)) == days | {"incidents": 50}
    assert reconcile(days, 59.5 * DAY) == {"incident_events": 60, "alert_outbox": 60, "incidents": 60, "runs": 1}


def test_every_table_has_its_days_and_nothing_else_has() -> None:
    assert set(RetentionSettings().days()) == set(TABLES)
    assert set(COUNTED.values()) == set(TABLES)


def test_days_are_read_from_the_environment_and_those_of_a_call_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_KEEP_RUNS_DAYS", "30")
    monkeypatch.setenv("WATCHLINE_KEEP_COMMANDS_DAYS", "")  # as a compose file passes on what is not set
    monkeypatch.setenv("WATCHLINE_ALERT_MAX_AGE_SECONDS", str(100 * 86_400))

    found = RetentionSettings().days()

    assert (found["runs"], found["commands"], found["alert_outbox"]) == (30, 90, 100)
    assert RetentionSettings().days(runs=7)["runs"] == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [("KEEP_RUNS_DAYS", "0"), ("KEEP_RUNS_DAYS", "-1"), ("KEEP_RUNS_DAYS", "99999"), ("PRUNE_HOUR", "24"),
     ("KEEP_INGESTION_HOURS_DAYS", "30")],
)  # fmt: skip
def test_what_would_delete_everything_or_blind_the_watch_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"WATCHLINE_{name}", value)

    with pytest.raises(ValidationError, match=name.lower()):
        RetentionSettings()


def test_incidents_are_pruned_after_what_belongs_to_them_and_everything_unless_something_is_named() -> None:
    assert chosen_tables(["incidents", "runs"]) == ("runs", "incident_events", "alert_outbox", "incidents")
    assert chosen_tables([]) == TABLES
