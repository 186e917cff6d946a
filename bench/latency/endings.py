"""The two ends of the way: rows in Postgres, asked for every few milliseconds, and requests to a local Slack."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import asyncpg
from aiohttp import web

from bench.latency.arrivals import Arrivals

POLL_SECONDS = 0.003
ENDED = "select run_id from runs where run_id = any($1::uuid[]) and ended_at is not null"
FAILING = re.compile(r"failing_\d+")


async def watch_rows(connection: asyncpg.Connection, rows: Arrivals[UUID]) -> None:
    """Note when the ends that are awaited are in Postgres, until cancelled; by primary key, which is cheap."""
    while True:
        found = await connection.fetch(ENDED, rows.waiting)
        rows.arrive((each["run_id"] for each in found), time.monotonic())
        await asyncio.sleep(POLL_SECONDS)


@asynccontextmanager
async def slack(port: int, requests: Arrivals[str]) -> AsyncIterator[None]:
    """A webhook on 127.0.0.1:`port` that says `ok`; a message arrives for every failing pipeline that it names."""

    async def receive(request: web.Request) -> web.Response:
        at = time.monotonic()
        requests.arrive(set(FAILING.findall(await request.text())), at)
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_post("/{path:.*}", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield
    finally:
        await runner.cleanup()
