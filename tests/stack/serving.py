"""Services that run in the process of a test, beside it, until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager

Service = Callable[[asyncio.Event], Coroutine[None, None, None]]
Serve = Callable[[Service], asyncio.Event]
END_SECONDS = 20


@asynccontextmanager
async def serving() -> AsyncIterator[Serve]:
    """A function that runs a service until the end of the block, and returns the event that stops it earlier."""
    async with AsyncExitStack() as stack:

        async def end(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
            stop.set()
            async with asyncio.timeout(END_SECONDS):
                await task

        def serve(service: Service) -> asyncio.Event:
            stop = asyncio.Event()
            stack.push_async_callback(end, stop, asyncio.create_task(service(stop)))
            return stop

        yield serve
