"""Scenario 6: daily at 06:00 in Berlin, grace 15 min; nothing by 06:15, a start at 06:40."""

from __future__ import annotations

from datetime import timedelta

from folds.log import identity, started
from folds.schedules import DAY, MINUTE, pulses, scheduled, utc, watched

SIX = utc("2026-12-01 05:00")  # in Berlin
BERLIN = scheduled("0 6 * * *", "Europe/Berlin", grace_seconds=900)


def test_one_incident_names_the_slot_in_both_zones_and_a_late_start_ends_it() -> None:
    log = watched(BERLIN, SIX - MINUTE)

    pulses(log, SIX, SIX + 39 * MINUTE)
    missed = log.slots[SIX]
    log.append(started("a", SIX + 40 * MINUTE))
    pulses(log, SIX + 41 * MINUTE, SIX + 60 * MINUTE)

    assert (missed.state, missed.decided_at) == ("missed", SIX + 15 * MINUTE)
    opened, resolved = log.incidents
    assert (opened.transition, opened.at, opened.cause_at) == ("opened", SIX + 15 * MINUTE, SIX + 15 * MINUTE)
    assert opened.title == "did not start, due 2026-12-01 06:00 Europe/Berlin"
    assert opened.facts[0].value == "2026-12-01 06:00 Europe/Berlin (2026-12-01 05:00 UTC)"
    assert (resolved.transition, resolved.resolve_reason) == ("resolved", "arrived_late")
    assert (resolved.resolved_at, resolved.run_id) == (SIX + 40 * MINUTE, identity("a"))


def test_the_slot_is_late_by_forty_minutes() -> None:
    log = watched(BERLIN, SIX - MINUTE)
    pulses(log, SIX, SIX + 39 * MINUTE)

    log.append(started("a", SIX + 40 * MINUTE))

    slot = log.slots[SIX]
    assert (slot.state, slot.run_id) == ("late", identity("a"))
    assert slot.started_at is not None
    assert slot.started_at - slot.due_at == timedelta(minutes=40)


def test_nobody_is_told_again_while_nothing_changes() -> None:
    log = watched(BERLIN, SIX - MINUTE)

    pulses(log, SIX, SIX + DAY, every=MINUTE)

    assert log.transitions("missed_start") == ["opened"]
