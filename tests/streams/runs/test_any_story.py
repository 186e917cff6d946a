"""Whatever decodes is folded: no story makes a fold raise, a row burst, or a record that the sink can't read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import fields
from datetime import datetime, timedelta
from math import isfinite
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from folds.log import KEY, NOON, Log
from folds.stories import Step, stories, thoroughly
from watchline.schemas import decode_record, encode_record
from watchline.schemas.records import AnomalyRecord, CommandRecord, IncidentRecord
from watchline.streams.deadlines import Deadlines
from watchline.streams.declarations import Declared
from watchline.streams.detection import unpack
from watchline.streams.instants import SECOND, to_micros
from watchline.streams.intake import Taken
from watchline.streams.publishing import encode_run
from watchline.streams.rows import RunsRow, decode_row, unpack_run
from watchline.streams.runs.desk import BatchFold, Rhythm, Tables
from watchline.streams.runs.fold import next_deadline
from watchline.streams.runs.incidents import Scene

rhythms = st.sampled_from((Rhythm(5, 0, 0), Rhythm(3600, 30, 0), Rhythm(5, 30, 2**18 - 1)))
sizes = st.integers(1, 12)


def batches(log: Log, story: Iterable[Step], size: int) -> Iterator[list[Taken]]:
    """The story in batches of `size` records; a declaration is made between two of them."""
    held: list[Taken] = []
    for step in story:
        if isinstance(step, Declared):
            yield held
            held = []
            log.declared = step
            log.desk.wake(KEY)
        else:
            held.append(log.record(step))
            if len(held) == size:
                yield held
                held = []
    yield held


def tell(story: Iterable[Step], size: int, rhythm: Rhythm) -> Log:
    log = Log(rhythm=rhythm)
    for batch in batches(log, story, size):
        log.take(batch)
    return log


@thoroughly
@given(stories(), sizes, rhythms)
def test_every_story_is_folded_into_a_small_row_and_records_that_can_be_read(
    story: list[Step], size: int, rhythm: Rhythm
) -> None:
    log, offset = Log(rhythm=rhythm), -1

    for batch in batches(log, story, size):
        log.take(batch)
        if KEY in log.rows:
            assert log.row.offset >= offset
            offset = log.row.offset

    findings: list[AnomalyRecord | IncidentRecord | CommandRecord] = [*log.anomalies, *log.incidents, *log.commands]
    for record in findings:
        assert decode_record(encode_record(record)) == record
    for run in log.runs:
        assert decode_record(encode_run(run.model_dump(exclude_none=True))) == run
    assert len(log.rows.get(KEY, b"")) < 16 * 1024
    for row in map(row_of, log.rows.values()):
        assert all(map(isfinite, numbers(row)))


def row_of(raw: bytes) -> Any:
    row = decode_row(RunsRow, raw)
    learnt = [unpack(packed) for packed in row.baselines.values()]
    states = [getattr(baseline, field.name) for baseline in learnt for field in fields(baseline)]
    return [msgspec.to_builtins(row, builtin_types=(bytes,)), [msgspec.to_builtins(unpack_run(r)) for r in row.ended],
            [list(state) if hasattr(state, "__iter__") else state for state in states]]  # fmt: skip


def numbers(tree: Any) -> Iterator[float]:
    if isinstance(tree, float):
        yield tree
    elif isinstance(tree, dict | list | tuple):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from numbers(item)


@thoroughly
@given(stories(most=40), sizes, rhythms)
def test_incidents_live_one_at_a_time_and_count_their_transitions(story: list[Step], size: int, rhythm: Rhythm) -> None:
    log = tell(story, size, rhythm)

    lives: dict[UUID, list[IncidentRecord]] = defaultdict(list)
    is_open: dict[str, UUID] = {}
    for it in log.incidents:
        lives[it.incident_id].append(it)
        if it.transition == "opened":
            assert it.fingerprint not in is_open
            is_open[it.fingerprint] = it.incident_id
        assert is_open[it.fingerprint] == it.incident_id
        if it.transition == "resolved":
            del is_open[it.fingerprint]
            assert it.resolved_at is not None
        assert it.at >= it.opened_at
    assert all([it.transition_no for it in life] == list(range(1, len(life) + 1)) for life in lives.values())
    held = log.row.incidents if KEY in log.rows else []
    assert {UUID(bytes=incident.incident_id) for incident in held} == set(is_open.values())


@thoroughly
@given(stories(most=40), sizes)
def test_after_a_settled_pulse_nothing_is_open_that_is_not_watched(story: list[Step], size: int) -> None:
    log = tell(story, size, Rhythm(5, 0, 0))

    last = datetime.max.replace(tzinfo=NOON.tzinfo, year=2030)
    log.desk.deadlines = None  # what it was told is forgotten with its worker
    log.pulse(last)

    checks = [incident.kind for incident in log.row.incidents] if KEY in log.rows else []
    declared = log.declared.with_mutes(log.row.mutes if KEY in log.rows else {})
    assert all(declared.watches(check, log.desk.clock.last or 0) for check in checks)


@thoroughly
@given(stories(most=40), sizes)
def test_deadlines_kept_and_deadlines_rebuilt_name_the_same_time(story: list[Step], size: int) -> None:
    log = Log()
    known_to, woken = log.declared, False
    for batch in batches(log, story, size):
        woken = woken or log.declared is not known_to
        log.take(batch)
        desk, clock = log.desk, log.desk.clock.last or 0
        known_to = log.declared
        if desk.deadlines is None:
            continue
        rebuilt = Deadlines(known(log, clock))
        for at in (clock, clock + 60 * SECOND, clock + 3600 * SECOND, to_micros(NOON + timedelta(days=4000))):
            kept_due, rebuilt_due = deepcopy(desk.deadlines).pop_due(at), deepcopy(rebuilt).pop_due(at)
            assert kept_due == rebuilt_due or (woken and kept_due)


def known(log: Log, at: int) -> Iterator[tuple[bytes, int]]:
    tables = Tables(row=log.rows.get, declared=lambda _: log.declared, keys=lambda _: [KEY])
    fold = BatchFold(log.desk, tables, log.rhythm)
    due = next_deadline(Scene("p", log.declared, 0, fold.effects), log.row if KEY in log.rows else RunsRow(0), at)
    if due is not None:
        yield KEY, due
