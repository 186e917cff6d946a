"""A TCP proxy on 127.0.0.1 that does harm on demand: cuts, silence, delay, an end in the middle of a message.

    async with Proxy("127.0.0.1", 5432) as proxy:          # in the loop of the test
    with in_a_thread(Proxy("127.0.0.1", 5432)) as proxy:   # in a loop and a thread of its own

Its methods may be called from any thread. Every harm lasts until `heal`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, TypeVar

from network.link import CHUNK, Link, reset
from network.weather import Weather

ANSWER_SECONDS = 10.0
T = TypeVar("T")


class Proxy:
    """Forwards connections from `port` to `host`:`upstream_port`; `listen_port` 0 takes a free one."""

    def __init__(self, host: str, upstream_port: int, *, listen_port: int = 0) -> None:
        self._upstream = (host, upstream_port)
        self._listen_port = listen_port
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.weather = Weather()
        self.connections = 0

    @property
    def port(self) -> int:
        """Where it listens, once started."""
        return self._listen_port

    @property
    def address(self) -> str:
        """`host:port`, once started."""
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """RST every open connection on both sides, and each new one as soon as it is accepted."""
        self._apply(self._cut)

    def blackhole(self) -> None:
        """Accept connections and hold back every byte of them and of the open ones; `heal` lets them through.

        Also those of a client that has gone since, as networks do; `cut` before `heal` loses them.
        """
        self._apply(lambda: self.weather.change(silent=True))

    def delay(self, seconds: float) -> None:
        """Hold every piece of data back for `seconds`, both ways."""
        self._apply(lambda: self.weather.change(delay=seconds))

    def close_after(self, count: int) -> None:
        """RST each connection when it has carried `count` more bytes, both ways together; those still arrive."""
        self._apply(lambda: self._close_after(count))

    def heal(self) -> None:
        """End every harm; what was held back goes on its way."""
        self._apply(self._heal)

    async def start(self) -> Self:
        """Listen."""
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._listen_port, limit=CHUNK)
        self._listen_port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        """Listen no more and RST what is open."""
        if self._server is not None:
            self._server.close()
        self._cut()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _make_link(self, client: tuple[Any, Any], server: tuple[Any, Any]) -> Link:
        return Link(client, server, self.weather)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.ensure_future(self._carry(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server = await asyncio.open_connection(*self._upstream, limit=CHUNK)
        except OSError:  # nobody is behind the proxy, and so the client must see it
            reset(writer)
            return
        link = self._make_link((reader, writer), server)
        if self.weather.cut:
            link.reset()
            return
        self._links.add(link)
        try:
            await link.carry()
        finally:
            self._links.discard(link)

    def _cut(self) -> None:
        self.weather.change(cut=True)
        for link in self._links:
            link.reset()

    def _close_after(self, count: int) -> None:
        for link in self._links:
            link.carried = 0
        self.weather.change(limit=count)

    def _heal(self) -> None:
        self.weather.clear()

    def _apply(self, change: Callable[[], None]) -> None:
        """Make a change in the loop of the proxy; returns when it is made."""
        assert self._loop is not None, "start it first"
        if _running_loop() is self._loop:
            change()
        else:
            _finish(_call(change), self._loop)


Kind = TypeVar("Kind", bound=Proxy)


@contextmanager
def in_a_thread(proxy: Kind) -> Iterator[Kind]:
    """Run `proxy` in a loop of its own, for tests that block or have no loop."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="proxy", daemon=True)
    thread.start()
    try:
        yield _finish(proxy.start(), loop)
    finally:
        _finish(proxy.stop(), loop)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _call(change: Callable[[], None]) -> None:
    change()


def _finish(work: Coroutine[Any, Any, T], loop: asyncio.AbstractEventLoop) -> T:
    return asyncio.run_coroutine_threadsafe(work, loop).result(ANSWER_SECONDS)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
