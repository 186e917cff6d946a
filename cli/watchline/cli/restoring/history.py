"""The past of one pipeline in the order in which the log once brought it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from datetime import UTC, datetime
from uuid import UUID

from watchline.cli.restoring.translation import StoredCommand, StoredRun, command_of, events_of
from watchline.streams.runs.fold import RunsEvent

NEVER = datetime.min.replace(tzinfo=UTC)


async def in_order(
    pipeline: str, ended: AsyncIterable[StoredRun], going_on: Iterable[StoredRun], commands: Iterable[StoredCommand]
) -> AsyncIterator[RunsEvent]:
    """The events of all of them: `ended` and `commands` come in the order of their revisions, which holds.

    A run that goes on starts before the first one that ended after it. What is said of a run follows that run: runs
    that were read in one batch have the revision of its last record, commands their own.
    """
    starting = deque(sorted(going_on, key=lambda run: run.started_at or NEVER))
    waiting, told = list(commands), set[UUID]()
    async for run in ended:
        while starting and (starting[0].started_at or NEVER) <= (run.ended_at or NEVER):
            for event in events_of(pipeline, starting.popleft()):
                yield event
        if waiting and waiting[0].revision < run.revision:
            due = [one for one in waiting if one.revision < run.revision and (one.run_id is None or one.run_id in told)]
            waiting = [one for one in waiting if one not in due]
            for one in due:
                yield command_of(pipeline, one)
        told.add(run.run_id)
        for event in events_of(pipeline, run):
            yield event
    for run in starting:
        for event in events_of(pipeline, run):
            yield event
    for one in waiting:
        yield command_of(pipeline, one)
