"""What a person decides travels as an event: what it must say, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from watchline.schemas import BadEvent, IncidentSnoozed, PipelineMuted, PipelineUnmuted, decode

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
COMMAND = {
    "event_id": "bf6e0959-961e-58c9-bca9-57e3ccc7bcf4",
    "occurred_at": "2026-11-30T11:59:00Z",
    "pipeline": "orders_daily",
    "by": "ada@etl-1",
}
INCIDENT = {"incident_id": "8f658051-1583-5f8f-9c89-0a918d14d834"}


def read(**fields: Any) -> Any:
    return decode(json.dumps(COMMAND | fields).encode(), now=NOW)


def reason_for(**fields: Any) -> str:
    with pytest.raises(BadEvent) as caught:
        read(**fields)
    return caught.value.reason


def test_a_snooze_may_end_in_a_week_which_no_other_time_may() -> None:
    event = read(event_type="incident.snoozed", until="2026-12-07T12:00:00Z", **INCIDENT)

    assert isinstance(event, IncidentSnoozed)
    assert event.until == NOW + timedelta(days=7)


def test_a_mute_without_a_check_is_one_of_all_checks() -> None:
    muted = read(event_type="pipeline.muted", until="2026-12-07T12:00:00Z")
    unmuted = read(event_type="pipeline.unmuted")

    assert isinstance(muted, PipelineMuted)
    assert isinstance(unmuted, PipelineUnmuted)
    assert (muted.check, unmuted.check) == ("all", "all")


def test_a_mute_of_a_check_that_is_none_is_refused_and_not_taken_for_all() -> None:
    assert reason_for(event_type="pipeline.muted", until="2026-12-07T12:00:00Z", check="fresh") == "wrong_type"


@pytest.mark.parametrize(
    ("until", "reason"),
    [
        ("2028-01-01T00:00:00Z", "timestamp_out_of_range"),
        ("2026-12-01T00:00:00", "naive_timestamp"),
        ("tomorrow", "invalid_timestamp"),
        (60, "wrong_type"),
        (None, "missing_field"),
    ],
)
def test_a_mute_that_might_never_end_is_refused(until: Any, reason: str) -> None:
    assert reason_for(event_type="pipeline.muted", until=until) == reason


@pytest.mark.parametrize(("by", "reason"), [(None, "missing_field"), (" ", "wrong_type"), (7, "wrong_type")])
def test_a_command_of_nobody_is_refused(by: Any, reason: str) -> None:
    assert reason_for(event_type="incident.resolved", **INCIDENT | {"by": by}) == reason


def test_a_command_about_no_incident_is_refused() -> None:
    assert reason_for(event_type="incident.acknowledged") == "missing_field"
    assert reason_for(event_type="incident.acknowledged", incident_id="8f658051") == "invalid_uuid"


def test_the_texts_of_a_command_are_masked_and_cut_as_all_texts_are() -> None:
    event = read(event_type="incident.resolved", note="password=hunter2hunter2 " + "x" * 9000, **INCIDENT)

    assert "hunter2" not in event.note
    assert set(event.flags) == {"secret_masked", "text_cut"}
