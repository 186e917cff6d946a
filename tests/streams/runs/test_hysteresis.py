"""Incidents that outlive their condition: what goes and comes back is told once."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from folds.log import KEY, NOON, PIPELINE, Log, ended
from watchline.schemas import KeepFiring, PipelineDeclared, TypeDefaults
from watchline.streams.declarations import Declared, fold_declaration, read_declaration
from watchline.streams.effects import Effects
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.rows import DeclarationRow

MINUTE = timedelta(minutes=1)
FAILING = Declared(keep_firing=(("failure", 600 * SECOND),))
STALE = Declared(
    freshness_limit=60 * SECOND, first_declared_at=to_micros(NOON), keep_firing=(("freshness", 300 * SECOND),)
)


def test_a_failure_that_comes_back_within_the_time_is_the_same_incident() -> None:
    log = Log(FAILING)
    for n, status in enumerate(("failed", "succeeded", "failed", "succeeded", "failed")):
        log.append(ended(n, NOON + n * MINUTE, status), now=NOON + n * MINUTE)

    assert log.transitions("failure") == ["opened", "updated", "updated"]
    flapping = log.incidents[-1].facts[0]
    assert (flapping.name, flapping.value) == ("flapping", 2.0)


def test_it_resolves_when_its_condition_has_been_gone_for_the_time_as_of_when_it_went() -> None:
    log = Log(FAILING)
    log.append(ended("a", NOON, "failed"), ended("b", NOON + MINUTE), now=NOON + MINUTE)

    log.pulse(NOON + 10 * MINUTE)
    before = log.transitions("failure")
    log.pulse(NOON + 11 * MINUTE)

    assert before == ["opened"]
    assert log.transitions("failure") == ["opened", "resolved"]
    assert (log.incidents[-1].resolved_at, log.incidents[-1].resolve_reason) == (NOON + MINUTE, "recovered")


def test_without_being_asked_a_failure_ends_with_the_next_success() -> None:
    log = Log()

    log.append(ended("a", NOON, "failed"), ended("b", NOON + MINUTE), now=NOON + MINUTE)

    assert log.transitions("failure") == ["opened", "resolved"]


def test_data_that_turns_stale_again_before_the_time_is_over_is_the_same_incident() -> None:
    log = Log(STALE)
    log.pulse(NOON + 2 * MINUTE)
    log.append(ended("a", NOON + 2 * MINUTE, inserts=1), now=NOON + 2 * MINUTE)

    log.pulse(NOON + 3 * MINUTE)

    assert log.transitions("freshness") == ["opened", "updated"]


def test_data_that_stays_fresh_for_the_time_is_told_to_be_fresh() -> None:
    log = Log(STALE)
    log.pulse(NOON + 2 * MINUTE)
    for n in range(2, 8):
        log.append(ended(n, NOON + n * MINUTE, inserts=1), now=NOON + n * MINUTE)
        log.pulse(NOON + (n + 0.5) * MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved"]
    assert log.incidents[-1].resolved_at == NOON + 2 * MINUTE


def test_a_worker_that_has_just_started_resolves_what_another_kept_open() -> None:
    log = Log(FAILING)
    log.append(ended("a", NOON, "failed"), ended("b", NOON + MINUTE), now=NOON + MINUTE)
    log.pulse(NOON + 2 * MINUTE)

    log.desk.deadlines = None
    log.pulse(NOON + 12 * MINUTE)

    assert log.transitions("failure") == ["opened", "resolved"]


def test_who_shortens_the_time_ends_what_is_kept_open_at_the_next_pulse() -> None:
    log = Log(FAILING)
    log.append(ended("a", NOON, "failed"), ended("b", NOON + MINUTE), now=NOON + MINUTE)
    log.pulse(NOON + 2 * MINUTE)

    log.declared = Declared()
    log.desk.wake(KEY)
    log.pulse(NOON + 3 * MINUTE)

    assert log.transitions("failure") == ["opened", "resolved"]


def declared(*own: KeepFiring, of_type: tuple[KeepFiring, ...] = ()) -> Declared:
    row = DeclarationRow(0)
    event = PipelineDeclared(
        event_id=UUID(int=1), occurred_at=NOON, pipeline=PIPELINE, keep_firing=own,
        type_defaults=TypeDefaults(keep_firing=of_type),
    )  # fmt: skip
    fold_declaration(row, event, epoch=0, effects=Effects())
    return read_declaration(row)


def test_freshness_is_kept_five_minutes_and_nothing_else_is_unless_declared() -> None:
    plain = declared()

    assert [plain.outlives(kind) for kind in ("freshness", "failure", "anomaly")] == [300 * SECOND, 0, 0]


def test_what_a_pipeline_declares_wins_over_its_type_and_that_over_the_default() -> None:
    both = declared(
        KeepFiring(check="failure", seconds=60),
        of_type=(KeepFiring(check="failure", seconds=7), KeepFiring(check="freshness", seconds=0)),
    )

    assert (both.outlives("failure"), both.outlives("freshness")) == (60 * SECOND, 0)
