"""The promise that every agent keeps for a batch: decode, fold, say, remember; only then is it acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

import structlog
from faust.types import EventT

from watchline.schemas.breaker import Breaker, Flood
from watchline.schemas.errors import Misconfigured, WatchlineError
from watchline.schemas.failpoints import failpoint
from watchline.streams.effects import Effects
from watchline.streams.instants import to_micros
from watchline.streams.intake import Homes, Intake, sort_out
from watchline.streams.publishing import publish_dead_letters, publish_effects, send_home
from watchline.streams.settings import StreamsSettings
from watchline.streams.transport import StateTable, StreamsApp

log = structlog.get_logger()
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 0.1, 5.0
COMMIT_SECONDS = 10.0

Folded = tuple[Mapping[int, Mapping[bytes, bytes]], Mapping[int, Effects]]


class Folder(Protocol):
    """The fold of one topic: pure but for what it keeps in memory, which `undo` puts back."""

    @property
    def expects(self) -> tuple[type, ...]:
        """The events that belong on the topic."""
        ...

    def fold(self, intake: Intake, *, now: int) -> Folded:
        """Rows to write and effects to send, by partition."""
        ...

    def undo(self) -> None:
        """Forget the fold of a batch that could not be finished."""
        ...

    def done(self) -> None:
        """The rows of the last fold can be read by others now."""
        ...


class NotOurs(Exception):
    """The partitions moved while the batch was folded: whoever owns them now reads it again."""


class Shell:
    """Runs batches of one topic through their fold."""

    def __init__(
        self, app: StreamsApp, settings: StreamsSettings, topic: str, table: StateTable, folder: Folder
    ) -> None:
        self._app, self._settings, self._topic = app, settings, topic
        self._table, self._folder = table, folder
        self._homes = Homes(settings.partitions)
        self._breaker = Breaker(topic, window=settings.breaker_window, share=settings.breaker_share)
        self._flooded = False
        self._leaving: asyncio.Task[None] | None = None

    async def absorb(self, events: Sequence[EventT[Any]]) -> None:
        """Finish a batch, however long it takes: an exception that left an agent would be a batch that is not done.

        A batch whose partitions were taken away is dropped; it was not acknowledged, so its new owner reads it. State
        that can't be read stops the worker: no retry would mend it. So do too many bad records, once all of their
        batch is finished: whoever starts again goes on behind it.
        """
        if self._flooded:
            await self._hold()
        delay = FIRST_RETRY_SECONDS
        while True:
            try:
                await self._finish(events)
                return
            except NotOurs:
                log.info("batch.handed_over", topic=self._topic, events=len(events))
                return
            except Misconfigured as wrong:
                await self._give_up(wrong)
            except Exception:
                self._folder.undo()
                log.exception("batch.retried", topic=self._topic, events=len(events), delay=delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, LAST_RETRY_SECONDS)

    async def _finish(self, events: Sequence[EventT[Any]]) -> None:
        app, topics, now = self._app, self._settings.topics, datetime.now(UTC)
        intake = sort_out(
            (event.message for event in events),
            homes=self._homes, expects=self._folder.expects, now=now, epoch=self._settings.log_epoch,
        )  # fmt: skip
        failpoint("F1")  # decoded, nothing said
        rows, effects = self._folder.fold(intake, now=to_micros(now))
        self._check_ownership(events)
        await publish_effects(app, topics, effects)
        failpoint("F4")  # said, not yet remembered: it is said again
        await send_home(app, self._topic, intake.misplaced)
        await publish_dead_letters(app, topics, intake.dead)
        self._check_ownership(events)
        acknowledgements = await self._table.put_many(rows)
        failpoint("F2")  # the changelog may hold any part of the batch
        await asyncio.gather(*acknowledgements)
        failpoint("F3")  # remembered, not yet committed: nothing counts twice
        self._folder.done()
        if intake.dead or intake.misplaced:
            log.warning(
                "batch.sorted_out", topic=self._topic, dead=len(intake.dead), misplaced=len(intake.misplaced),
                reasons=sorted({letter.reason for letter in intake.dead}),
            )  # fmt: skip
        if flood := self._breaker.note(intake.records, intake.bad):
            await self._stop(flood)

    async def _stop(self, flood: Flood) -> None:
        """Stop the worker behind this batch: its dead letters are durable, so it may be acknowledged."""
        error, self._flooded = flood.error(), True
        log.critical("intake.stopped", **flood.facts(), reason=str(error), hint=error.hint)
        self._leaving = asyncio.create_task(self._leave(error))

    async def _leave(self, error: WatchlineError) -> None:
        """Commit what is finished, then stop: a worker that has crashed commits no more, and would read it again."""
        try:
            async with asyncio.timeout(COMMIT_SECONDS):
                await self._app.consumer.commit()  # may only wait for one that began before the batch ended
                await self._app.consumer.commit()
        except Exception:  # the dead letters are durable: they only come twice, and the sink keeps one
            log.exception("commit.unanswered", topic=self._topic)
        await self._app.crash(error)

    async def _give_up(self, wrong: Misconfigured) -> None:
        """Stop the worker with this batch in hand, so that it is not acknowledged."""
        log.critical("worker.gave_up", topic=self._topic, reason=str(wrong), hint=wrong.hint)
        await self._app.crash(wrong)
        await self._hold()

    async def _hold(self) -> None:
        """Keep a batch in hand until the stop of the worker cancels this, so that it is not acknowledged."""
        await asyncio.Event().wait()

    def _check_ownership(self, events: Sequence[EventT[Any]]) -> None:
        """Nothing fences a worker that lost its partitions, so it asks itself right before it writes."""
        owned, generation = self._table.owned(), self._app.consumer_generation_id
        if any(e.message.partition not in owned or e.message.generation_id != generation for e in events):
            self._folder.undo()
            raise NotOurs
