"""A small HTTP server of a test: what the fakes of Slack have in common."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self

from aiohttp import web


class Listener(ABC):
    """Listens on a free port of 127.0.0.1 within the block; POSTs to `route` go to `_receive`.

    `_changed` is told of each request; `_closing` is set at the end, for answers that hang until then.
    """

    route = "/{path:.*}"

    def __init__(self) -> None:
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._address = ""

    async def until(self, reached: Callable[[], bool], *, seconds: float = 30.0) -> None:
        """Wait until something holds after a request; TimeoutError after `seconds`."""
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(reached)

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 20)
        app.router.add_post(self.route, self._receive)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self._address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    @abstractmethod
    async def _receive(self, request: web.Request) -> web.StreamResponse: ...
