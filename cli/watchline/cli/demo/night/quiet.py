"""Stories of which nobody must hear: the end of summer time, and what was due while Kafka was away."""

from __future__ import annotations

from datetime import timedelta

from watchline.cli.demo.night.clock import TIMEZONE, Night
from watchline.cli.demo.night.telling import Due, Run, Story, declare
from watchline.schemas.declaration import Schedule

QUARTER = timedelta(minutes=15)


def daylight_saving(night: Night) -> Story:
    """02:30 comes twice and the job runs once, the first time; 06:00 stays 06:00."""
    closing, report = "ledger_close", "morning_report"
    return Story(
        (
            declare(night, closing, owner="finance", schedule=Schedule(cron="30 2 * * *", timezone=TIMEZONE)),
            declare(night, report, owner="board", schedule=Schedule(cron="0 6 * * *", timezone=TIMEZONE)),
        ),
        (
            *Run(closing, "once").whole(night.at("02:30:05"), night.at("02:42")),
            *Run(report, "at six").whole(night.at("06:00:05"), night.at("06:03")),
        ),
        dues=(Due(closing, night.at("02:30"), "met"), Due(report, night.at("06:00"), "met")),
        quiet="ledger_close: 02:30 came twice and it is due once; morning_report: 06:00 stayed 06:00",
    )


def outage(night: Night) -> Story:
    """Rates run every quarter of an hour and are delivered late; of the text messages due at 00:40 nobody hears."""
    rates, texts = "fx_rates", "sms_digest"
    first, last = night.at("20:15"), night.at("08:45")
    slots = [first + number * QUARTER for number in range((last - first) // QUARTER + 1)]
    started = [(slot, slot + timedelta(seconds=10)) for slot in slots]
    return Story(
        (
            declare(night, rates, owner="treasury", schedule=Schedule(cron="*/15 * * * *", timezone=TIMEZONE)),
            declare(night, texts, owner="support", schedule=Schedule(cron="40 0 * * *", timezone=TIMEZONE)),
        ),
        tuple(
            each
            for slot, began in started
            for each in Run(rates, slot.isoformat()).whole(began, began + timedelta(minutes=2))
        ),
        dues=(*(Due(rates, slot, "met") for slot in slots), Due(texts, night.at("00:40"), "unknown")),
        quiet="Kafka was away from 00:30 to 00:50: what fx_rates did then came late and counts as done in time; "
        "whether sms_digest started at 00:40 is unknown, and unknown is not missed",
    )
