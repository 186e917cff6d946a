"""Schedules as code: what travels, and what is left out with words."""

from __future__ import annotations

import logging
from datetime import UTC, date, datetime
from typing import Any

import pytest

from watchline.schemas import PipelineDeclared, config_hash
from watchline.schemas import declaration as contract
from watchline.sdk import Pipeline, Schedule
from watchline.sdk.testing import record

CHRISTMAS = ("2026-12-24/2026-12-26", date(2027, 1, 1))
RESUMED = datetime(2027, 1, 4, 8, tzinfo=UTC)


def declare(schedule: Any) -> PipelineDeclared:
    client, recorder = record()
    with client.pipeline(Pipeline(name="p", owner="sales", schedule=schedule)).run():
        pass
    event = recorder.events[0]
    assert isinstance(event, PipelineDeclared)
    return event


def test_a_full_schedule_travels_as_it_was_meant() -> None:
    event = declare(
        Schedule("@daily", "Europe/Berlin", grace="10m", early="30s", exclude=CHRISTMAS, paused_until=RESUMED)
    )

    assert event.flags == ()
    assert event.schedule == contract.Schedule(
        cron="@daily", timezone="Europe/Berlin", grace_seconds=600, early_seconds=30,
        exclude=("2026-12-24/2026-12-26", "2027-01-01"), paused_until=RESUMED,
    )  # fmt: skip
    assert event.config_hash == config_hash(event)


@pytest.mark.parametrize(
    "schedule", ["0 6 * * *", Schedule("0 6 * * *", early=0), Schedule("0 6 * * *", exclude="2026-12-24")]
)
def test_defaults_do_not_travel_and_the_hash_is_that_of_the_contract(schedule: Any) -> None:
    event = declare(schedule)

    assert event.flags == ()
    assert event.schedule is not None
    assert event.config_hash == config_hash(event)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("0 0 6 * * *", "this one has 6; seconds can't be given"),
        ("@reboot", "@reboot names no time of the clock"),
        (Schedule("0 25 * * *"), "hour '25' is not 0 to 23"),
        (Schedule("0 6 * * *", "Mars/X"), "'Mars/X' is no IANA zone"),
        (Schedule("0 6 * * *", exclude=["Christmas"]), "'Christmas' is neither a date"),
        (Schedule("0 6 * * *", exclude=["2026-12-24"] * 401), "400 dates"),
        (Schedule("0 6 * * *", paused_until=datetime(2027, 1, 1)), "paused_until"),  # noqa: DTZ001 - the case
        (Schedule(None), "left out"),  # type: ignore[arg-type]
        (17, "left out"),
    ],
)
def test_a_wrong_schedule_is_left_out_as_a_whole_and_the_log_says_why(
    schedule: Any, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    event = declare(schedule)

    assert (event.schedule, event.owner, event.flags) == (None, "sales", ())
    said = " ".join(one.getMessage() for one in caplog.records if one.levelno == logging.WARNING)
    assert words in said
