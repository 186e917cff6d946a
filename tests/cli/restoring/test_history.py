"""The past of a pipeline comes in the order in which it was read once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from folds.log import NOON, PIPELINE, identity
from restoring.past import stored
from sinking.records import ended as ended_record
from sinking.records import started as started_record
from watchline.cli.restoring.history import in_order
from watchline.cli.restoring.translation import StoredCommand, StoredRun


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def run(name: str, minutes: float, revision: int) -> StoredRun:
    """A run that took a minute and ended so long after noon."""
    record = ended_record(
        revision=revision, run_id=identity(name), started_at=after(minutes - 1), ended_at=after(minutes),
        end_event_id=identity("end", name), duration_seconds=60.0,
    )  # fmt: skip
    return stored(record)


def open_run(name: str, minutes: float) -> StoredRun:
    return stored(started_record(revision=99, run_id=identity(name), started_at=after(minutes)))


def said(minutes: float, revision: int, *, of: str | None = None) -> StoredCommand:
    """Feedback on a run, else the end of a mute."""
    return StoredCommand(
        identity("said", minutes, revision), revision, "feedback.given" if of else "pipeline.unmuted", after(minutes),
        "ada@etl-1", None, identity(of) if of else None, None, None, "expected" if of else None, [],
    )  # fmt: skip


async def order_of(
    ended: Sequence[StoredRun], going_on: Sequence[StoredRun] = (), commands: Sequence[StoredCommand] = ()
) -> list[str]:
    """What comes in which order: runs by their names, commands by their type."""
    names = {identity(name): name for name in "abcdxyz"}

    async def stream() -> AsyncIterator[StoredRun]:
        for one in ended:
            yield one

    events: list[Any] = [event async for event in in_order(PIPELINE, stream(), going_on, commands)]
    return [
        f"{names[event.run_id]} {event.event_type.removeprefix('run.')}"
        if event.event_type.startswith("run.")
        else event.event_type
        for event in events
        if event.event_type != "run.started" or event.run_id in {one.run_id for one in going_on}
    ]


async def test_a_run_that_goes_on_starts_before_the_first_that_ended_after_it() -> None:
    found = await order_of([run("a", 1, 1), run("b", 5, 2)], [open_run("y", 9), open_run("x", 3)])

    assert found == ["a ended", "x started", "b ended", "y started"]


async def test_a_command_stands_by_its_revision_and_a_clock_that_is_wrong_moves_it_by_one_batch_at_most() -> None:
    runs = [run("a", 1, 1), run("b", 2, 5), run("c", 3, 9)]

    for minutes, place in ((-60, 1), (1.5, 1), (60, 2)):
        found = await order_of(runs, commands=[said(minutes, 4)])
        assert found.index("pipeline.unmuted") == place


async def test_among_the_runs_of_one_batch_a_command_stands_by_its_time() -> None:
    batch = [run("a", 1, 9), run("b", 2, 9), run("c", 3, 9)]

    found = await order_of([*batch, run("d", 4, 12)], commands=[said(2.5, 7), said(60, 8)])

    assert found == ["a ended", "b ended", "pipeline.unmuted", "c ended", "pipeline.unmuted", "d ended"]


async def test_feedback_follows_its_run_even_if_that_has_a_later_revision() -> None:
    found = await order_of([run("a", 3, 9), run("b", 4, 9)], commands=[said(1, 5, of="a")])

    assert found == ["a ended", "feedback.given", "b ended"]


async def test_what_is_said_of_a_run_that_is_not_there_comes_last() -> None:
    found = await order_of([run("a", 3, 9)], commands=[said(1, 5, of="z")])

    assert found == ["a ended", "feedback.given"]
