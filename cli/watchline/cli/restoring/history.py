"""The past of one pipeline in the order in which the log once brought it."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime
from uuid import UUID

from watchline.cli.restoring.translation import StoredCommand, StoredRun, command_of, events_of
from watchline.streams.runs.fold import RunsEvent

NEVER = datetime.min.replace(tzinfo=UTC)


async def in_order(
    pipeline: str, ended: AsyncIterable[StoredRun], going_on: Iterable[StoredRun], commands: Iterable[StoredCommand]
) -> AsyncIterator[RunsEvent]:
    """The events of all of them: `ended` and `commands` come in the order of their revisions, which holds.

    A run that goes on starts before the first one that ended after it.
    """
    starting = deque(sorted(going_on, key=lambda run: run.started_at or NEVER))
    given = Given(commands)
    async for run in ended:
        while starting and (starting[0].started_at or NEVER) <= (run.ended_at or NEVER):
            for event in events_of(pipeline, starting.popleft()):
                yield event
        for command in given.before(run):
            yield command_of(pipeline, command)
        for event in events_of(pipeline, run):
            yield event
    for run in starting:
        for event in events_of(pipeline, run):
            yield event
    for command in given.waiting:
        yield command_of(pipeline, command)


class Given:
    """The commands of one pipeline, each to be obeyed at its place among the runs.

    Runs that were read in one batch have the revision of its last record, commands their own: among the runs of the
    first revision after it a command stands by its time. What is said of a run follows that run in any case.
    """

    def __init__(self, commands: Iterable[StoredCommand]) -> None:
        self.waiting = list(commands)
        self._batch: dict[UUID, int] = {}  # the first revision after that of each command
        self._told: set[UUID] = set()

    def before(self, run: StoredRun) -> Iterator[StoredCommand]:
        """The commands that were given before `run` ended."""
        if self.waiting and self.waiting[0].revision < run.revision:
            due = [command for command in self.waiting if self._precedes(command, run)]
            self.waiting = [command for command in self.waiting if command not in due]
            yield from due
        self._told.add(run.run_id)

    def _precedes(self, command: StoredCommand, run: StoredRun) -> bool:
        if command.revision >= run.revision or (command.run_id is not None and command.run_id not in self._told):
            return False
        batch = self._batch.setdefault(command.event_id, run.revision)
        return run.revision > batch or (run.ended_at or NEVER) > command.at
