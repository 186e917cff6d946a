"""Waiting until all that was sent is judged and stored: exact, by counting rows and comparing offsets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import asyncpg

from watchline.cli.lag import committed_offsets, end_offsets, lag, stored_offsets
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Unavailable
from watchline.schemas.topics import Topics

POLL_SECONDS = 0.25
PATIENCE_SECONDS = 90.0
ENDED = "select count(*) from runs where pipeline = any($1) and status <> 'running'"
DECLARED = "select count(*) from pipelines where pipeline = any($1) and declared_at is not null"


class Arrival:
    """What has arrived in Postgres; `check` raises when a part has died."""

    def __init__(
        self, connection: asyncpg.Connection[Any], pipelines: Sequence[str], check: Callable[[], None]
    ) -> None:
        self._connection = connection
        self._pipelines = list(pipelines)
        self._check = check

    async def declared(self) -> int:
        """How many of the pipelines have their declaration stored."""
        return int(await self._connection.fetchval(DECLARED, self._pipelines))

    async def ended(self) -> int:
        """How many ended runs are stored."""
        return int(await self._connection.fetchval(ENDED, self._pipelines))

    async def until(
        self,
        reached: Callable[[], Awaitable[int]],
        goal: int,
        what: str,
        *,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Return once `reached` is `goal`; Unavailable when it does not move for PATIENCE_SECONDS."""
        best, since = await reached(), time.monotonic()
        while best != goal:
            self._check()
            await asyncio.sleep(POLL_SECONDS)
            now = await reached()
            progress(now)
            if now != best:
                best, since = now, time.monotonic()
            elif time.monotonic() - since > PATIENCE_SECONDS:
                raise Unavailable(
                    f"{what}: stuck at {best} of {goal} for {PATIENCE_SECONDS:.0f} s",
                    hint="`watchline doctor` shows which part is behind; see its log",
                )

    async def until_caught_up(self, kafka: KafkaConnection, topics: Topics, epoch: int) -> None:
        """Return once the streams have committed all that was sent, and the sink all that they published."""
        sources = await end_offsets(kafka, topics.sources)

        async def left_to_judge() -> int:
            return lag(sources, await committed_offsets(kafka, topics.application, sources))

        await self.until(left_to_judge, 0, "records that the streams have yet to judge")
        outputs = await end_offsets(kafka, topics.outputs)

        async def left_to_store() -> int:
            return lag(outputs, await stored_offsets(self._connection, epoch))

        await self.until(left_to_store, 0, "records that the sink has yet to store")
