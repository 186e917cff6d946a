"""Times of the clock as code: by when data is complete and a run is done."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from watchline.schemas import PipelineDeclared, config_hash
from watchline.schemas import declaration as contract
from watchline.sdk import CompleteBy, DoneBy, Freshness, Pipeline, PipelineType, Timeliness
from watchline.sdk.testing import record

BERLIN = "Europe/Berlin"


def declare(**options: Any) -> PipelineDeclared:
    client, recorder = record()
    with client.pipeline(Pipeline(name="p", **options)).run():
        pass
    event = recorder.events[0]
    assert isinstance(event, PipelineDeclared)
    return event


@pytest.mark.parametrize(
    ("given", "travels"),
    [
        (DoneBy("07:30", BERLIN), contract.DoneBy(cron="30 7 * * *", timezone=BERLIN)),
        ("07:30 Europe/Berlin", contract.DoneBy(cron="30 7 * * *", timezone=BERLIN)),
        ("07:30", contract.DoneBy(cron="30 7 * * *")),
        (DoneBy("30 7 * * 1-5"), contract.DoneBy(cron="30 7 * * 1-5")),
        ("30 7 * * 1-5 Europe/Berlin", contract.DoneBy(cron="30 7 * * 1-5", timezone=BERLIN)),
    ],
)
def test_a_deadline_travels_as_it_was_meant(given: Any, travels: contract.DoneBy) -> None:
    event = declare(timeliness=Timeliness(max_duration="30m", done_by=given))

    assert event.flags == ()
    assert event.timeliness == contract.Timeliness(max_duration_seconds=1800, done_by=travels)
    assert event.config_hash == config_hash(event)


@pytest.mark.parametrize(
    ("given", "travels"),
    [
        (CompleteBy("09:00", BERLIN), contract.CompleteBy(cron="0 9 * * *", timezone=BERLIN)),
        (CompleteBy("09:00", days=2), contract.CompleteBy(cron="0 9 * * *", days=2)),
        ("09:00 Europe/Berlin", contract.CompleteBy(cron="0 9 * * *", timezone=BERLIN)),
    ],
)
def test_by_when_a_day_is_complete_travels_too(given: Any, travels: contract.CompleteBy) -> None:
    event = declare(freshness=Freshness(max_age="1d", complete_by=given))

    assert event.flags == ()
    assert event.freshness == contract.Freshness(max_age_seconds=86_400, complete_by=travels)
    assert event.config_hash == config_hash(event)


def test_a_type_may_have_both() -> None:
    kind = PipelineType(
        "extraction", freshness=Freshness(complete_by="09:00"), timeliness=Timeliness(done_by="07:30 Europe/Berlin")
    )

    defaults = declare(type=kind).type_defaults

    assert defaults is not None
    assert defaults.freshness == contract.Freshness(complete_by=contract.CompleteBy(cron="0 9 * * *"))
    assert defaults.timeliness is not None
    assert defaults.timeliness.done_by == contract.DoneBy(cron="30 7 * * *", timezone=BERLIN)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"timeliness": Timeliness(done_by="soon")}, "done_by='soon' is left out: a cron line has five fields"),
        ({"timeliness": Timeliness(done_by="25:00")}, "'25:00' is no time of the day"),
        ({"timeliness": Timeliness(done_by=DoneBy("07:30", "Mars/X"))}, "'Mars/X' is no IANA zone"),
        ({"timeliness": Timeliness(done_by=7)}, "done_by=7 is left out"),  # type: ignore[arg-type]
        ({"freshness": Freshness(complete_by=CompleteBy("09:00", days=0))}, "it is 1 to 366 days"),
        ({"freshness": Freshness(complete_by=CompleteBy("0 0 9 * * *"))}, "is left out"),
        ({"freshness": Freshness(complete_by="0 0 9 * * *")}, "'*' is no IANA zone"),
    ],
)
def test_what_is_wrong_is_left_out_and_the_log_says_why(
    wrong: dict[str, Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    event = declare(**wrong)

    assert (event.timeliness, event.freshness, event.flags) == (None, None, ())
    said = " ".join(one.getMessage() for one in caplog.records if one.levelno == logging.WARNING)
    assert words in said


def test_a_deadline_that_is_wrong_costs_no_other_limit() -> None:
    event = declare(timeliness=Timeliness(max_duration="30m", done_by="soon"))

    assert event.timeliness == contract.Timeliness(max_duration_seconds=1800)
