"""A crash between what was said and what was written, anywhere, changes nothing in the end."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from datetime import timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from folds.log import KEY, NOON, Log, ended, identity, started
from folds.stories import declarations, near, run_events, thoroughly
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.intake import Taken
from watchline.streams.rows import unpack_run
from watchline.streams.runs.desk import Desk, Rhythm

records = st.lists(st.one_of(run_events(12), run_events(12), near), min_size=1, max_size=40)
accidents = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(("none", "none", "undone"))), max_size=30)
restarts = st.lists(st.tuples(st.integers(1, 9), st.sampled_from(("none", "undone", "restarted"))), max_size=30)
rhythms = st.sampled_from((Rhythm(5, 0, 0), Rhythm(1800, 0, 0), Rhythm(1800, 900, 0)))
onward = st.lists(st.one_of(run_events(12), run_events(12), st.none()), min_size=1, max_size=40)

LIMITED = Declared(timeliness_limit=600 * SECOND, freshness_limit=3600 * SECOND, first_declared_at=to_micros(NOON))
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def essence(log: Log) -> dict[str, Any]:
    """Everything a row says but how far it has read: a pulse that decides nothing may leave no trace."""
    row = log.row
    return msgspec.structs.asdict(row) | {"offset": None, "ended": [unpack_run(packed) for packed in row.ended]}


def said(log: Log) -> tuple[dict[Any, Any], ...]:
    return (
        {anomaly.anomaly_id: anomaly for anomaly in log.anomalies},
        {(incident.incident_id, incident.transition_no): incident for incident in log.incidents},
        {due: slot.model_copy(update={"revision": 0}) for due, slot in log.slots.items()},
        {(command.event_id, command.revision): command for command in log.commands},
    )


def tell(log: Log, steps: Iterable[Any]) -> list[Taken]:
    """Fold the steps one by one; the records that they were."""
    taken = []
    for step in steps:
        taken.append(log.record(step))
        log.take(taken[-1:])
    return taken


def live_through(log: Log, taken: list[Taken], accidents: Iterable[tuple[int, str]]) -> None:
    """Fold `taken` in batches; after an accident what was said stays said, and the batch is folded again."""
    at, todo = 0, iter(accidents)
    while at < len(taken):
        size, accident = next(todo, (5, "none"))
        rows, clock = dict(log.rows), copy(log.desk.clock)
        log.take(taken[at : at + size])
        if accident == "none":
            at += size
            continue
        log.rows = rows
        if accident == "undone":
            log.desk.reset(clock)
        else:
            log.desk = Desk(0)


@thoroughly
@given(records, declarations(), accidents, rhythms)
def test_a_batch_that_is_folded_again_with_other_borders_ends_in_the_same_row(
    story: list[Any], declared: Declared, accidents: list[tuple[int, str]], rhythm: Rhythm
) -> None:
    calm, rough = Log(declared, rhythm), Log(declared, rhythm)
    taken = tell(calm, story)

    live_through(rough, taken, accidents)

    assert (KEY in rough.rows) == (KEY in calm.rows)
    if KEY in calm.rows:
        assert essence(rough) == essence(calm)
    assert said(rough) == said(calm)


@thoroughly
@given(onward, declarations(), restarts, rhythms)
def test_a_worker_that_begins_anew_in_mid_batch_ends_in_the_same_row(
    story: list[Any], declared: Declared, accidents: list[tuple[int, str]], rhythm: Rhythm
) -> None:
    calm, rough = Log(declared, rhythm), Log(declared, rhythm)
    steps = [NOON + n * timedelta(minutes=10) if step is None else step for n, step in enumerate(story)]
    taken = tell(calm, steps)

    live_through(rough, taken, accidents)

    assert (KEY in rough.rows) == (KEY in calm.rows)
    if KEY in calm.rows:
        assert essence(rough) == essence(calm)
    assert said(rough) == said(calm)


def test_what_fell_due_between_an_event_and_the_pulse_behind_it_is_looked_at_in_one_batch_too() -> None:
    paused = Declared(active=False, freshness_limit=1, first_declared_at=to_micros(NOON + 20 * MINUTE))
    steps = [started("a"), NOON + 20 * MINUTE, started("b"), NOON + 60 * MINUTE]
    calm, rough = Log(paused), Log(paused)
    taken = tell(calm, steps)

    rough.take(taken[:2])
    rough.take(taken[2:])

    assert essence(rough) == essence(calm)
    assert [run.seen_at for run in rough.row.open if run.run_id == identity("a").bytes] == [to_micros(NOON + HOUR)]


def test_what_was_due_in_a_batch_that_was_undone_is_due_again() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON)
    rows, clock = dict(log.rows), copy(log.desk.clock)
    pulse = log.record(NOON + 11 * MINUTE)

    log.take([pulse])
    log.rows = rows
    log.desk.reset(clock)
    log.take([pulse])

    first, second = log.incidents
    assert first == second


def test_what_a_clock_ahead_opened_is_closed_when_it_is_put_right() -> None:
    log = Log(LIMITED)
    log.append(ended("a", NOON, inserts=1))
    log.pulse(NOON + 70 * MINUTE)

    log.pulse(NOON + 10 * MINUTE)

    assert log.transitions("freshness") == ["opened", "resolved"]


def test_deadlines_rebuilt_in_mid_batch_know_what_the_batch_brought() -> None:
    log = Log(LIMITED)
    log.pulse(NOON)

    log.take([log.record(step) for step in (started("a", NOON), NOON + MINUTE, NOON - 10 * MINUTE, NOON + 11 * MINUTE)])

    assert log.transitions("timeliness") == ["opened"]
