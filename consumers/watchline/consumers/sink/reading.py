"""Reading one batch ahead: Kafka is asked and bytes are decoded while Postgres stores the batch before."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Generic, TypeVar

import structlog

from watchline.consumers.sink.incoming import Incoming, Source, read

T = TypeVar("T")
log = structlog.get_logger(__name__)
SLICE = 100  # records decoded at a stretch, a third of a millisecond; then Postgres's answers have their turn


class ReadAhead(Generic[T]):
    """One batch at most is being read or waits to be taken, so batches come in the order of the log."""

    def __init__(self, read_next: Callable[[], Awaitable[T | None]]) -> None:
        self._read_next = read_next
        self._task: asyncio.Future[T | None] | None = None

    def begin(self) -> None:
        """Read the next batch in the background, if that is not being done."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._read_next())

    async def take(self) -> T | None:
        """The next batch, None when there was nothing to read; raises what reading raised."""
        self.begin()
        task, self._task = self._task, None
        assert task is not None
        return await task

    async def drop(self) -> None:
        """Forget what was read ahead; on return nothing is being read any more."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (error := task.exception()):
            log.info("reading.dropped", error=type(error).__name__)  # reading on will meet it again


@asynccontextmanager
async def reading_ahead(read_next: Callable[[], Awaitable[T | None]]) -> AsyncIterator[ReadAhead[T]]:
    """A reader that is done with reading at the end."""
    ahead = ReadAhead(read_next)
    try:
        yield ahead
    finally:
        await ahead.drop()


async def decode_all(sources: Iterable[Source], *, now: datetime, log_epoch: int) -> list[Incoming]:
    """The records with their meaning, in their order."""
    items: list[Incoming] = []
    for source in sources:
        items.append(read(source, now=now, log_epoch=log_epoch))
        if len(items) % SLICE == 0:
            await asyncio.sleep(0)
    return items
