"""Pulses and alerts of absence as a sink stores them, and a place that is pinged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import asyncpg
from aiohttp import web

from sinking import records
from watchline.consumers.sink.incidents import store_incidents
from watchline.schemas.records import IncidentRecord

PARTITIONS = (0, 1, 2, 3)
SECONDS = 20.0
TAKEN = """
insert into sink_offsets (log_epoch, topic, partition, fence, owner, updated_at)
select $1, 't.' || topic, partition, 1, 'test', now() - $3::interval
from unnest($2::integer[]) as partition, unnest(array['state', 'incidents']) as topic on conflict do nothing
"""
ARRIVED = """
insert into ingestion (log_epoch, partition, pulse_at, revision, stored_at)
select $1, partition, now() - $3::interval - $4::interval, 1, now() - $3::interval
from unnest($2::integer[]) as partition
on conflict (log_epoch, partition) do update set pulse_at = excluded.pulse_at, stored_at = excluded.stored_at
"""


async def wait_for_pulses(
    connection: asyncpg.Connection, partitions: Iterable[int] = PARTITIONS, *, epoch: int = 0, since: float = 0
) -> None:
    """A sink has taken the partitions so many seconds ago."""
    await connection.execute(TAKEN, epoch, list(partitions), timedelta(seconds=since))


async def arrive(
    connection: asyncpg.Connection,
    partitions: Iterable[int] = PARTITIONS,
    *,
    ago: float = 0,
    delay: float = 1,
    epoch: int = 0,
) -> None:
    """The newest pulse of each of these came so many seconds ago, `delay` seconds after it was written."""
    await wait_for_pulses(connection, partitions, epoch=epoch)
    await connection.execute(ARRIVED, epoch, list(partitions), timedelta(seconds=ago), timedelta(seconds=delay))


async def sink(connection: asyncpg.Connection, *told: IncidentRecord) -> None:
    """Store transitions as the sink does, read when they happened."""
    async with connection.transaction():
        await store_incidents(connection, list(told), now=records.after(hours=1), alert_max_age=timedelta(days=1))


def absent(pipeline: str, kind: str = "freshness", **changes: Any) -> IncidentRecord:
    """Something that did not happen."""
    title = f"{kind} of {pipeline}"
    fields = {"pipeline": pipeline, "kind": kind, "fingerprint": f"{pipeline}/{kind}", "title": title}
    return records.incident(f"{pipeline}/{kind}", **fields | changes)


def ended(opened: IncidentRecord) -> IncidentRecord:
    """The end of one that `absent` made."""
    same = {name: getattr(opened, name) for name in ("pipeline", "kind", "fingerprint", "title")}
    return records.resolved(f"{opened.pipeline}/{opened.kind}", **same)


async def states(connection: asyncpg.Connection) -> dict[tuple[str, str], tuple[str, str | None]]:
    """State and reason of every alert, by pipeline and transition."""
    found = await connection.fetch("select pipeline, transition, state, suppressed_reason from alert_outbox")
    return {(row["pipeline"], row["transition"]): (row["state"], row["suppressed_reason"]) for row in found}


async def reach(what: str, condition: Callable[[], Awaitable[bool]], *, seconds: float = SECONDS) -> None:
    """Wait until `condition` holds; fail, saying what was waited for, when it does not in time."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None


async def reach_row(connection: asyncpg.Connection, condition: str, *, seconds: float = SECONDS) -> None:
    """Wait until that SQL condition is true."""

    async def holds() -> bool:
        return bool(await connection.fetchval(f"select {condition}"))

    await reach(condition, holds, seconds=seconds)


@dataclass
class Outside:
    """The service outside that is pinged; it answers `status`."""

    url: str = ""
    status: int = 200
    pings: int = 0
    heard: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def wait_for_more(self, pings: int = 1, *, seconds: float = SECONDS) -> None:
        """Wait for so many pings from now on."""
        wanted = self.pings + pings
        async with asyncio.timeout(seconds), self.heard:
            await self.heard.wait_for(lambda: self.pings >= wanted)

    async def is_quiet_for(self, seconds: float) -> bool:
        """Whether no ping comes for so long."""
        try:
            await self.wait_for_more(seconds=seconds)
        except TimeoutError:
            return True
        return False

    async def falls_silent(self, *, lull: float, seconds: float = SECONDS) -> None:
        """Wait until no ping has come for `lull` seconds."""
        async with asyncio.timeout(seconds):
            while not await self.is_quiet_for(lull):
                continue


@asynccontextmanager
async def outside() -> AsyncIterator[Outside]:
    """A place on loopback that counts its pings."""
    place = Outside()

    async def answer(_: web.Request) -> web.Response:
        async with place.heard:
            place.pings += 1
            place.heard.notify_all()
        return web.Response(status=place.status)

    app = web.Application()
    app.router.add_post("/{path:.*}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)  # the path is a secret
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    place.url = f"http://127.0.0.1:{runner.addresses[0][1]}/ping/canary-of-the-switch"
    try:
        yield place
    finally:
        await runner.cleanup()
