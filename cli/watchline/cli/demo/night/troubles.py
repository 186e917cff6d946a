"""Stories of single pipelines that get into trouble, or seem to."""

from __future__ import annotations

from datetime import timedelta

from watchline.cli.demo.night.clock import TIMEZONE, Night
from watchline.cli.demo.night.telling import Due, Outcome, Run, Story, declare, failed
from watchline.schemas.declaration import Retries, Schedule, Timeliness
from watchline.schemas.events import RunError

HEARTBEAT = timedelta(seconds=60)


def missed_start(night: Night) -> Story:
    """Nothing starts at 22:00; somebody starts it by hand at 22:40."""
    name, began = "crm_contacts", night.at("22:40")
    schedule = Schedule(cron="0 22 * * *", timezone=TIMEZONE, grace_seconds=900)
    return Story(
        (declare(night, name, owner="sales", schedule=schedule),),
        tuple(Run(name, "by hand").whole(began, night.at("22:50"))),
        (
            Outcome(
                name, "missed_start", night.at("22:15"), began, "arrived_late",
                "due 22:00, grace 15 min; started by hand at 22:40",
            ),
        ),
        (Due(name, night.at("22:00"), "late"),),
    )  # fmt: skip


def hung_run(night: Night) -> Story:
    """A run may take an hour and hangs; it is stopped by hand after two and a half, and the next one succeeds."""
    name, began, stopped, again = "invoice_render", night.at("21:00"), night.at("23:30"), night.at("00:10")
    hung = Run(name, "hung")
    error = RunError(type="KeyboardInterrupt", message="stopped by hand")
    return Story(
        (declare(night, name, owner="billing", timeliness=Timeliness(max_duration_seconds=3600)),),
        (
            hung.start(began),
            hung.end(began, stopped, status="aborted", error=error),
            *Run(name, "again").whole(night.at("23:40"), again),
        ),
        (
            Outcome(name, "timeliness", night.at("22:00"), stopped, "recovered", "limit 1 h; hung since 21:00"),
            Outcome(name, "failure", stopped, again, "recovered", "stopped by hand at 23:30; the next run succeeded"),
        ),
    )


def lost_host(night: Night) -> Story:
    """Heartbeats stop at 23:20, as the host is cut off; its end at 23:50 is delivered at 00:12."""
    name, began, ended = "web_sessions", night.at("23:00"), night.at("23:50")
    run = Run(name, "cut off", host="etl-07")
    beats = tuple(run.beat(night.at("23:00:30") + minute * HEARTBEAT) for minute in range(21))
    return Story(
        (declare(night, name, owner="web"),),
        (
            run.start(began, heartbeat_seconds=HEARTBEAT.total_seconds()),
            *beats,
            run.end(began, ended, arrives=night.at("00:12")),
        ),
        (
            Outcome(
                name, "lost", night.at("23:26"), ended, "arrived_late",
                "three heartbeats missed; it was only cut off, its end came at 00:12",
            ),
        ),
    )  # fmt: skip


def retried_failure(night: Night) -> Story:
    """Two attempts fail, the third succeeds: nobody is told."""
    name, run = "ads_spend", Run("ads_spend", "retried")
    tries = (("01:00", "01:05"), ("01:10", "01:15"), ("01:20", "01:28"))
    sent = []
    for number, (begins, ends) in enumerate(tries, 1):
        outcome = {} if number == len(tries) else failed("HTTPError", "429 from the ad network")
        sent.append(run.start(night.at(begins), attempt=number))
        sent.append(run.end(night.at(begins), night.at(ends), attempt=number, **outcome))
    declared = declare(night, name, owner="marketing", retries=Retries(limit=2, wait_seconds=1800))
    quiet = "ads_spend: two attempts of a run failed and the third succeeded"
    return Story((declared,), tuple(sent), quiet=quiet)
