"""What is said of an ill ingestion, and how it changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from watchline.consumers.watch.health import Cause, Health
from watchline.consumers.watch.incident import (
    FINGERPRINT,
    facts_of,
    ill_partitions,
    next_transition,
    opening,
    severity_of,
    title_of,
)
from watchline.schemas.records import IncidentRecord, revision_of

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
NEW = UUID(int=7)
FIRST = NOON - timedelta(minutes=3)


def silent(*partitions: int) -> tuple[Cause, ...]:
    return tuple(Cause("silent", FIRST, one) for one in partitions)


def delayed(*partitions: int, minutes: float = 40) -> tuple[Cause, ...]:
    behind = timedelta(minutes=minutes)
    return tuple(Cause("delayed", NOON - behind, one, behind=behind) for one in partitions)


VOLUME = (Cause("volume", NOON - timedelta(hours=1), events=3, usual=420),)


def ill(causes: tuple[Cause, ...]) -> Health:
    return Health(ill=True, causes=causes, since=min(cause.since for cause in causes))


def opened(causes: tuple[Cause, ...]) -> IncidentRecord:
    return opening(ill(causes), 4, NOON, NEW)


@pytest.mark.parametrize(
    ("causes", "title"),
    [
        (silent(0, 1, 2, 3), "nothing arrives from all 4 partitions since 2026-11-30 11:57 UTC"),
        (silent(2), "nothing arrives from partition 2 since 2026-11-30 11:57 UTC"),
        (delayed(3, minutes=4), "partition 3 is 4 min behind"),
        (delayed(1, 3), "partitions 1, 3 are 40 min behind"),
        (VOLUME, "3 events in the hour from 2026-11-30 11:00 UTC, usually 420"),
        (
            silent(0) + delayed(1),
            "nothing arrives from partition 0 since 2026-11-30 11:57 UTC; partition 1 is 40 min behind",
        ),
    ],
)
def test_the_title_says_what_is_wrong_and_since_when(causes: tuple[Cause, ...], title: str) -> None:
    assert title_of(causes, 4) == title


@pytest.mark.parametrize(
    ("causes", "severity"),
    [
        (silent(0), "fail"),
        (delayed(1), "warn"),
        (delayed(0, 1, 2, 3), "fail"),
        (VOLUME, "warn"),
        (VOLUME + silent(1), "fail"),
    ],
)
def test_silence_fails_and_a_late_part_or_a_small_volume_warns(causes: tuple[Cause, ...], severity: str) -> None:
    assert severity_of(causes, 4) == severity


def test_it_opens_when_its_first_cause_began_and_under_a_revision_that_no_record_of_the_log_has() -> None:
    record = next_transition(None, ill(silent(0, 1, 2, 3)), 4, NOON, NEW)

    assert record is not None
    assert (record.incident_id, record.fingerprint, record.kind) == (NEW, FINGERPRINT, "ingestion")
    assert (record.transition, record.transition_no, record.opened_at) == ("opened", 1, FIRST)
    assert record.revision < revision_of(0, 0)


def test_what_grows_in_the_same_places_changes_nothing() -> None:
    later = NOON + timedelta(hours=1)

    assert next_transition(opened(delayed(3)), ill(delayed(3, minutes=90)), 4, later, NEW) is None


def test_another_place_is_a_change_that_can_only_make_it_worse() -> None:
    later = NOON + timedelta(minutes=2)

    worse = next_transition(opened(delayed(3)), ill(silent(2)), 4, later, NEW)
    better = next_transition(opened(silent(2)), ill(delayed(3)), 4, later, NEW)

    assert worse is not None
    assert (worse.transition, worse.transition_no, worse.severity) == ("updated", 2, "fail")
    assert worse.title.startswith("nothing arrives from partition 2")
    assert better is not None
    assert better.severity == "fail"


def test_changes_that_follow_each_other_at_once_are_one() -> None:
    soon = NOON + timedelta(seconds=59)

    assert next_transition(opened(delayed(3)), ill(silent(2)), 4, soon, NEW) is None


def test_it_resolves_as_a_gap_that_lasted_until_pulses_came_again() -> None:
    back = FIRST + timedelta(minutes=20)

    record = next_transition(opened(silent(0)), Health(since=back), 4, back + timedelta(minutes=2), NEW)

    assert record is not None
    assert (record.transition, record.resolved_at, record.resolve_reason) == ("resolved", back, "recovered")
    assert record.title == "ingestion gap 20 min"


def test_nothing_is_said_while_it_is_well() -> None:
    assert next_transition(None, Health(), 4, NOON, NEW) is None


def test_a_verdict_taken_over_from_another_notifier_says_nothing_before_it_has_seen_causes_itself() -> None:
    assert next_transition(opened(silent(0)), Health(ill=True), 4, NOON + timedelta(hours=1), NEW) is None


@pytest.mark.parametrize(
    ("causes", "partitions", "ill_ones"),
    [
        (silent(0, 3), 4, {0, 3}),
        (delayed(1), 4, {1}),
        (silent(0, 1, 2, 3), 4, None),
        (silent(0) + VOLUME, 4, None),
        (VOLUME, 4, None),
        (silent(*range(11)), 40, None),
        (silent(0), 1, None),
    ],
)
def test_the_facts_say_of_which_partitions_absence_is_unknown(
    causes: tuple[Cause, ...], partitions: int, ill_ones: set[int] | None
) -> None:
    assert ill_partitions(facts_of(causes, partitions)) == ill_ones
