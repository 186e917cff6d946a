"""The thread that delivers, with an event loop of its own, and the connection that it holds."""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Protocol, TypeVar, TypeVarTuple
from weakref import WeakSet

from watchline.sdk.harmless import harmless, log
from watchline.sdk.message import Message, Settle

REST_SECONDS = 0.02
CLOSE_SECONDS = 1.0
ALIVE_SECONDS = 0.1
LAST_SECONDS = 0.4  # of the flush budget, kept for the disk and for closing the connection
T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Carrier(Protocol):
    """A connection that messages travel by; `send` settles every message, whatever happens."""

    async def open(self) -> None: ...

    async def send(self, messages: Sequence[Message], settle: Settle) -> None: ...

    async def read_values(self, topic: str, key: bytes) -> list[bytes]: ...

    async def close(self, seconds: float) -> None: ...


class Loop(asyncio.SelectorEventLoop):
    """An event loop that needs no other thread.

    Most jobs are so short that Kafka is connected when Python is on its way out already. There it starts no thread
    (3.12), a pool takes no work, and importing `concurrent.futures.thread` raises.
    """

    def __init__(self) -> None:
        super().__init__()
        self._transports_open: WeakSet[asyncio.Transport] = WeakSet()

    async def getaddrinfo(self, host: Any, port: Any, **kind: Any) -> Any:
        """Resolve in this thread; it has nothing else to do without an address."""
        return socket.getaddrinfo(host, port, **kind)

    def run_in_executor(
        self, executor: concurrent.futures.Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Call in this thread what would go to the default pool: aiokafka sends each step of a login there."""
        if executor is not None:
            return super().run_in_executor(executor, func, *args)
        called: asyncio.Future[T] = self.create_future()
        try:
            called.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - of whoever awaits it
            called.set_exception(error)
        return called

    async def create_connection(self, *arguments: Any, **options: Any) -> Any:
        """Connect, and remember it for `hang_up`."""
        transport, protocol = await super().create_connection(*arguments, **options)
        self._transports_open.add(transport)
        return transport, protocol

    async def hang_up(self) -> None:
        """End every connection that is still open: aiokafka forgets the one that it was cancelled in.

        Its sockets are closed in the next turns.
        """
        for transport in list(self._transports_open):
            transport.abort()
        for _ in range(2):
            await asyncio.sleep(0)


class Life:
    """One thread with its loop; a fork or a flush at exit ends it, the next message begins another."""

    def __init__(self, deliver: Callable[[Life], Coroutine[Any, Any, None]]) -> None:
        self.stopping = False
        self.closing_seconds = CLOSE_SECONDS
        self.connected = asyncio.Event()
        self._carrier: Carrier | None = None
        self.failures = 0
        self.error: Exception | None = None
        self.loop = Loop()
        self.loop.set_exception_handler(lambda _loop, context: log.debug("watchline: %s", context.get("message")))
        self._news = asyncio.Event()
        self._hurry = asyncio.Event()
        self._called = True
        self._deliver = deliver
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._work, name="watchline", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # the system has no thread left, or Python is on its way out
            self.loop.close()
            raise

    @property
    def carrier(self) -> Carrier | None:
        """The connection, None while there is none."""
        return self._carrier

    @carrier.setter
    def carrier(self, carrier: Carrier | None) -> None:
        self._carrier = carrier
        if carrier is None:
            self.connected.clear()
        else:
            self.connected.set()

    @property
    def thread(self) -> threading.Thread:
        """The thread that delivers."""
        return self._thread

    def wake(self) -> None:
        """Let the loop look for news; from any thread. One call is enough for many messages."""
        if not self._called:
            self._called = True
            with suppress(RuntimeError):  # the loop has just been closed, so there is nobody to wake
                self.loop.call_soon_threadsafe(self._news.set)

    def listen(self) -> None:
        """From here on a message wakes the loop: a system call that lets go of the interpreter, so it is kept rare."""
        self._called = False

    async def rest(self) -> None:
        """After a batch let the next one gather, unless somebody waits for it."""
        self._called = True
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_SECONDS):
                await self._hurry.wait()
        self._hurry.clear()

    def hurry(self) -> None:
        """End a rest; from any thread."""
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._hurry.set)

    async def wait_news(self, seconds: float) -> None:
        """Wait for `wake`, at most `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._news.wait()
        self._news.clear()

    def call(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        """What `work` gives in the loop; TimeoutError after `seconds`, or sooner when the thread has ended."""
        deadline = time.monotonic() + seconds
        try:
            asked = asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:  # the loop has just been closed
            work.close()
            raise
        while (left := deadline - time.monotonic()) > 0 and self._thread.is_alive():
            with suppress(concurrent.futures.TimeoutError):
                return asked.result(min(left, ALIVE_SECONDS))
        asked.cancel()
        raise TimeoutError("no answer in time")

    def stop(self, seconds: float, *, closing: float = CLOSE_SECONDS) -> None:
        """End the thread, waiting at most `seconds`: it is a daemon and can't hold up the process.

        What is under way has `closing` of them, at most half, to be acknowledged.
        """
        self.closing_seconds = min(closing, seconds / 2)
        with suppress(RuntimeError):  # it has just ended by itself
            self.loop.call_soon_threadsafe(self._end)
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _end(self) -> None:
        """In the loop, in one step: told by the flag alone, the task would be closing when the cancellation comes."""
        self.stopping = True
        if self._task is not None:
            self._task.cancel()

    def _work(self) -> None:
        self._task = self.loop.create_task(self._deliver(self))
        with harmless("delivering events"), suppress(asyncio.CancelledError):
            self.loop.run_until_complete(self._task)
        with harmless("closing the connection"):
            self.loop.run_until_complete(end_tasks())
            self.loop.run_until_complete(self.loop.hang_up())
        self.loop.close()


async def end_tasks() -> None:
    """Cancel what still runs in this loop."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=LAST_SECONDS)
