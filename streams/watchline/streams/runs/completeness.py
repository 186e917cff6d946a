"""Data that has to be complete up to a day by a time of the clock: "up to yesterday by 09:00"."""

from __future__ import annotations

from watchline.schemas.records import IncidentFact
from watchline.streams.instants import to_words
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import RunsRow
from watchline.streams.runs.incidents import Scene
from watchline.streams.runs.promises import advance, begin_promise, is_current, promise_due_at
from watchline.streams.slots.timetable import Timetable


def completeness_due_at(scene: Scene, row: RunsRow, at: int) -> int | None:
    """When a pulse has to look whether a day is complete."""
    return promise_due_at(_timetable_of(scene), row.complete_by, at)


def watch_completeness(scene: Scene, row: RunsRow, at: int, *, resumed_at: int) -> bool:
    """Note at the pulse `at` whether the data that was due by then is there; whether the row changed.

    `resumed_at` is the pulse that ended the last gap: of a time before it nothing is said.
    """
    timetable, promise = _timetable_of(scene), row.complete_by
    if timetable is None:
        row.complete_by = None
        return promise is not None
    if promise is None or not is_current(promise, timetable) or is_ahead(promise.reckoned_at, at):
        row.complete_by = begin_promise(timetable, at)
        return True
    if not advance(promise, timetable, at):
        return False
    due = promise.previous
    promise.missed = due is not None and due > resumed_at and reached_of(scene) < _needed(scene, timetable, due)
    return True


def incomplete_since(scene: Scene, row: RunsRow) -> int | None:
    """By when the data should have been there that is missing still; None when nothing is."""
    timetable, promise = _timetable_of(scene), row.complete_by
    if timetable is None or promise is None or not promise.missed or not is_current(promise, timetable):
        return None
    due = promise.previous
    return due if due is not None and reached_of(scene) < _needed(scene, timetable, due) else None


def title_of(scene: Scene, due: int) -> str:
    """What is missing: "data of 2026-11-29 is not complete, due 2026-11-30 09:00 Europe/Berlin"."""
    timetable = scene.declared.complete_by
    assert timetable is not None
    day = timetable.day_before(due, scene.declared.complete_days)
    return f"data of {day} is not complete, due {timetable.name(due)}"


def fact_of(scene: Scene, due: int) -> IncidentFact:
    """Which day was due when, and how far the data is complete."""
    timetable = scene.declared.complete_by
    assert timetable is not None
    day = timetable.day_before(due, scene.declared.complete_days)
    return IncidentFact(
        name="due", value=f"all of {day} by {timetable.full_name(due)}", unit="text", note=note_of(scene)
    )


def reached_of(scene: Scene) -> int:
    """How far the data is complete; what never had a watermark counts from its first declaration."""
    return scene.declared.first_declared_at or 0 if scene.watermark_at is None else scene.watermark_at


def note_of(scene: Scene) -> str:
    """How far the data is complete, in words."""
    reached = scene.watermark_at
    return "no watermark was ever set" if reached is None else f"watermark {to_words(reached)}"


def _needed(scene: Scene, timetable: Timetable, due: int) -> int:
    return timetable.end_of(timetable.day_before(due, scene.declared.complete_days))


def _timetable_of(scene: Scene) -> Timetable | None:
    return scene.declared.complete_by if scene.declared.active else None
