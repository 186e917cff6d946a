"""The real run history as a stream of events, sent by the demo's own means."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import chain

from stack.contents import value
from watchline.cli.demo.history import read_history
from watchline.cli.demo.replay import open_producer, send_events
from watchline.cli.demo.translation import declarations, events
from watchline.schemas import Event, KafkaConnection, PipelineDeclared, Topics

CHUNK = 100
PACE_SECONDS = 0.04


def history(limit: int) -> list[Event]:
    """Declarations, then the events of the first `limit` runs in order."""
    runs = read_history(limit)
    return [*declarations(runs), *chain.from_iterable(events(run) for run in runs)]


class Replay:
    """Sends a history piece by piece, so that a test can do harm in between."""

    def __init__(self, bootstrap_servers: str, topics: Topics, dsn: str, story: Sequence[Event]) -> None:
        self._kafka = KafkaConnection(bootstrap_servers=bootstrap_servers)
        self._topics, self._dsn = topics, dsn
        self._declared = [event for event in story if isinstance(event, PipelineDeclared)]
        self._rest = [event for event in story if not isinstance(event, PipelineDeclared)]

    async def declare(self) -> None:
        """Send the declarations and wait until the sink has them: rules must be known before runs are judged."""
        await self._send(self._declared)
        async with asyncio.timeout(60):
            while await value(self._dsn, "select count(*) from pipeline_versions") < len(self._declared):
                await asyncio.sleep(0.1)

    async def run(self) -> None:
        """Send everything at a pace that leaves time for harm."""
        for at in range(0, len(self._rest), CHUNK):
            await self._send(self._rest[at : at + CHUNK])
            await asyncio.sleep(PACE_SECONDS)

    async def stored(self, runs: int) -> None:
        """Wait until that many runs have ended in Postgres."""
        async with asyncio.timeout(150):
            while await self.count() < runs:
                await asyncio.sleep(0.05)

    async def count(self) -> int:
        """How many runs have ended in Postgres."""
        found: int = await value(self._dsn, "select count(*) from runs where ended_at is not null")
        return found

    async def _send(self, batch: Sequence[Event]) -> None:
        async with open_producer(self._kafka) as producer:
            await send_events(producer, self._topics, batch, lambda _: None)
