"""The script by itself: what a plain fold makes of it is what the night promises, and no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from stack.oracle import judge
from watchline.cli.demo.night.account import Account, Incident
from watchline.cli.demo.night.clock import Night, last_night
from watchline.cli.demo.night.play import PAUSES
from watchline.cli.demo.night.script import DELIVERY, PULSE, SETTLE, Script, chapters, write_script
from watchline.cli.demo.night.telling import Sent
from watchline.cli.demo.night.verdict import compare, wrong_starts
from watchline.schemas.records import ExpectedRunRecord, IncidentRecord
from watchline.streams.runs.desk import Rhythm

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SCRIPT = write_script(last_night(NOW))
RHYTHM = Rhythm(PULSE.total_seconds(), SETTLE.total_seconds(), 0)


def fold(script: Script, steps: Sequence[Sent | datetime], rhythm: Rhythm = RHYTHM) -> Account:
    """What a plain fold of the night comes to; who is told is the notifier's business and as expected here."""
    story = [*script.declared, *(step.event if isinstance(step, Sent) else step for step in steps)]
    newest: dict[object, IncidentRecord] = {}
    starts: dict[tuple[str, datetime], str] = {}
    for effects in judge(story, now=NOW + timedelta(days=800), rhythm=rhythm):
        newest |= {record.incident_id: record for record in effects.incidents}
        slots = [record for record in effects.state if isinstance(record, ExpectedRunRecord)]
        starts |= {(slot.pipeline, slot.due_at): slot.state for slot in slots}
    incidents = tuple(incident(script, record) for record in newest.values())
    return Account((), incidents, {slot: state for slot, state in starts.items() if state != "expected"})


def incident(script: Script, record: IncidentRecord) -> Incident:
    under = {(one.pipeline, one.kind): one.under for one in script.outcomes}.get((record.pipeline, record.kind))
    return Incident(
        record.pipeline, record.kind, record.opened_at, record.resolved_at, record.resolve_reason, under is None, under
    )


def faults(script: Script, account: Account) -> list[str]:
    lines = [f"{one.pipeline} {one.kind} {one.judgement}" for one in compare(script, account)]
    return [line for line in lines if not line.endswith("as expected")] + wrong_starts(script, account)


def without(steps: Sequence[Sent | datetime], pipeline: str, lost: slice) -> list[Sent | datetime]:
    """The night in which those of the events of `pipeline` are lost."""
    theirs = [step for step in steps if isinstance(step, Sent) and step.event.pipeline == pipeline][lost]
    return [step for step in steps if not any(step is each for each in theirs)]


@pytest.mark.parametrize("sunday", [date(2025, 10, 26), date(2026, 10, 25), date(2027, 10, 31)])
def test_the_night_comes_to_what_it_promises_and_to_nothing_else(sunday: date) -> None:
    script = write_script(Night(sunday))

    assert faults(script, fold(script, script.steps())) == []


def test_about_a_dozen_pipelines_are_played() -> None:
    names = [one.pipeline for one in SCRIPT.declared]

    assert len(names) == len(set(names)) == 14


@pytest.mark.parametrize(
    ("pipeline", "lost", "fault"),
    [
        ("crm_contacts", slice(None), "crm_contacts due 22:00 CEST: missed, expected late"),
        ("web_sessions", slice(-1, None), "web_sessions lost different"),
        ("ads_spend", slice(4, None), "ads_spend failure false"),
        ("invoice_render", slice(-1, None), "invoice_render failure different"),
        ("fx_rates", slice(2), "fx_rates missed_start false"),
        ("raw_orders", slice(-12, None), "raw_orders freshness different"),
    ],
)
def test_the_check_finds_what_goes_wrong_when_events_are_lost(pipeline: str, lost: slice, fault: str) -> None:
    found = fold(SCRIPT, without(SCRIPT.steps(), pipeline, lost))

    assert fault in faults(SCRIPT, found)


def test_a_clock_that_sees_no_gap_accuses_somebody_falsely() -> None:
    blind = replace(RHYTHM, pulse=3600.0)  # a gap of 20 minutes is none for it

    assert "sms_digest missed_start false" in faults(SCRIPT, fold(SCRIPT, SCRIPT.steps(), blind))


def test_nothing_reaches_the_log_while_kafka_is_away_and_all_comes_afterwards() -> None:
    begins, ends = SCRIPT.night.outage
    steps = SCRIPT.steps()
    arrivals = [step.arrives if isinstance(step, Sent) else step for step in steps]

    late = [step for step in steps if isinstance(step, Sent) and step.arrives == ends + DELIVERY]

    assert not any(begins <= at < ends for at in arrivals)
    assert arrivals == sorted(arrivals)
    assert len(late) == sum(begins <= step.event.occurred_at < ends for step in steps if isinstance(step, Sent)) > 4


def test_the_chapters_are_the_night_and_each_ends_with_a_pulse() -> None:
    steps = SCRIPT.steps()

    parts = list(chapters(steps, [SCRIPT.night.at(each) for each in PAUSES]))

    assert [step for part in parts for step in part] == steps
    assert len(parts) == len(PAUSES) + 1
    assert all(isinstance(part[-1], datetime) for part in parts)
