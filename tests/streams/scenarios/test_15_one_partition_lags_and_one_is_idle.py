"""Scenario 15: one partition is read 40 minutes late, another one carries nothing but pulses."""

from __future__ import annotations

from datetime import datetime

from folds.log import Log, identity, started
from folds.schedules import MINUTE, pulses, scheduled, states, utc, watched
from watchline.streams.intake import Taken

SIX = utc("2026-12-01 06:00")
JOB = scheduled("*/10 * * * *", grace_seconds=120)


def forty_minutes(log: Log) -> list[Taken]:
    """What stands in the log: a pulse a minute, and the starts right after their slots."""
    records: list[Taken] = []
    for n in range(40):
        records.append(log.record(SIX + n * MINUTE))
        if n % 10 == 0:
            records.append(log.record(started(n, SIX + n * MINUTE)))
    return records


def test_a_backlog_delays_the_verdicts_and_invents_none() -> None:
    log = watched(JOB, SIX - MINUTE)

    log.take(forty_minutes(log), now=SIX + 40 * MINUTE)

    assert states(log) == ["met"] * 4 + ["expected"]
    assert log.incidents == []


def test_a_start_that_is_missing_in_a_backlog_is_told_with_the_time_of_its_slot() -> None:
    log = watched(JOB, SIX - MINUTE)
    records = [record for record in forty_minutes(log) if getattr(record.event, "run_id", None) != identity(20)]

    log.take(records, now=SIX + 40 * MINUTE)

    assert states(log) == ["met", "met", "missed", "met", "expected"]
    assert [(it.transition, it.at) for it in log.incidents] == [
        ("opened", SIX + 22 * MINUTE), ("resolved", SIX + 30 * MINUTE)
    ]  # fmt: skip


def test_an_idle_partition_decides_by_its_pulses() -> None:
    log = watched(JOB, SIX - MINUTE)

    pulses(log, SIX, SIX + 2 * MINUTE)

    assert states(log) == ["missed", "expected"]
    assert log.incidents[0].at == SIX + 2 * MINUTE


def met_by(log: Log, until: datetime) -> list[str]:
    return [slot.state for due, slot in sorted(log.slots.items()) if due < until]


def test_however_the_backlog_is_cut_into_batches_the_slots_are_the_same() -> None:
    whole, pieces = watched(JOB, SIX - MINUTE), watched(JOB, SIX - MINUTE)

    whole.take(forty_minutes(whole))
    for record in forty_minutes(pieces):
        pieces.take([record])

    assert whole.slots.keys() == pieces.slots.keys()
    assert met_by(whole, SIX + 40 * MINUTE) == met_by(pieces, SIX + 40 * MINUTE) == ["met"] * 4
    assert whole.row == pieces.row
