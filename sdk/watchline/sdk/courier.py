"""The background thread that brings messages to Kafka, and to disk when Kafka is away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from watchline.schemas.errors import WatermarkUnavailable
from watchline.schemas.failpoints import failpoint
from watchline.sdk.buffer import Buffer
from watchline.sdk.harmless import warn_once
from watchline.sdk.life import LAST_SECONDS, Carrier, Life
from watchline.sdk.message import Counters, Message, Rejected
from watchline.sdk.outbox import Outbox
from watchline.sdk.outlet import Beating

BATCH = 500
RESEND_FIRST_SECONDS = 1.0  # older events go first, but must not starve those of this run
RESCAN_SECONDS = 30.0
PAUSE_SECONDS = (0.1, 5.0)
HOPELESS_FAILURES = 3
SPOOL_AFTER_SECONDS = 5.0
DISK_AGAIN_SECONDS = 60.0
SETTLE_SECONDS = 0.2  # how long a fork waits for what is under way to be acknowledged
FORK_SECONDS = 2.0  # how long for the thread to end, which may be loading Kafka's client just now


class NotDelivered(Exception):
    """A message is still ours after sending; the connection is taken to be bad."""


class Courier:
    """Takes messages without ever blocking, and delivers them in order from a thread of its own."""

    def __init__(self, connect: Callable[[], Carrier], outbox: Outbox, *, max_events: int, max_bytes: int) -> None:
        self._connect = connect
        self._outbox = outbox
        self._limits = {"max_events": max_events, "max_bytes": max_bytes}
        self._inherited: list[object] = []
        self._renew()

    def _renew(self) -> None:
        self._buffer = Buffer(max_events=self._limits["max_events"], max_bytes=self._limits["max_bytes"])
        self._starting = threading.RLock()
        self._life: Life | None = None
        self._beating: dict[Beating, float] = {}
        self._exiting = False
        self._whole = threading.Event()  # cleared for as long as a fork takes
        self._whole.set()
        self._spool_at = 0.0

    def before_fork(self) -> None:
        """End the thread until the fork is over: the child shall inherit no lock, connection or claim of it.

        Python warns of a fork beside a thread since 3.12, and would warn the job of ours.
        """
        with self._starting:  # or one that is just being begun would be missed
            self._whole.clear()
            life, self._life = self._life, None
        if life is not None:
            self._buffer.wait_settled(SETTLE_SECONDS)  # so that little is sent twice
            life.stop(FORK_SECONDS, closing=SETTLE_SECONDS)
            self._buffer.put_back()

    def after_fork_in_parent(self) -> None:
        """Go on where the thread was."""
        self._whole.set()
        if (self._beating or self._buffer.counters().pending) and (life := self._start()):
            life.wake()

    def after_fork(self) -> None:
        """Begin empty in a child: the parent sends what the parent emitted.

        What a thread that did not end in time held is kept and never closed: closing the copy of its selector would
        deafen the parent's.
        """
        self._inherited.append((self._life, self._buffer))
        self._renew()

    def emit(self, message: Message) -> None:
        """Take a message; never blocks and never raises for lack of room."""
        self._buffer.put(message)
        failpoint("S1")  # queued: lost with the process
        if self._exiting:
            self._buffer.spool(self._outbox.store)
        elif life := self._start():
            life.wake()

    def refuse(self, reason: str) -> None:
        """Count an event that could not be made a message."""
        self._buffer.refuse(reason)

    def counters(self) -> Counters:
        """What became of every event."""
        return self._buffer.counters()

    def flush(self, seconds: float) -> bool:
        """Wait until everything is acknowledged; False after `seconds`, or sooner when Kafka is plainly away."""
        if life := self._life:
            life.hurry()
        return self._buffer.wait_empty(seconds, hopeless=self._is_down)

    def close(self, seconds: float) -> None:
        """Deliver what can be delivered within `seconds`, put the rest on disk, and end the thread."""
        deadline = time.monotonic() + seconds
        if not self.flush(max(0.0, seconds - LAST_SECONDS)):
            self._buffer.spool(self._outbox.store)
        life, self._life = self._life, None
        if life is not None:
            life.stop(max(0.1, deadline - time.monotonic()))

    def close_for_good(self, seconds: float) -> None:
        """`close` at the end of the process: what is emitted later goes straight to disk."""
        self.close(seconds)
        self._exiting = True

    def watch(self, run: Beating, seconds: float) -> None:
        """Call the run's `beat` from the background thread, first after `seconds`."""
        self._beating[run] = time.monotonic() + seconds

    def unwatch(self, run: Beating) -> None:
        """Leave the run alone from now on."""
        self._beating.pop(run, None)

    def read_values(self, topic: str, key: bytes, seconds: float) -> list[bytes]:
        """All values of a key in the log, after what this process has emitted; WatermarkUnavailable otherwise."""
        deadline = time.monotonic() + seconds
        while True:
            life = self._start(waiting=deadline - time.monotonic())
            try:
                return self._ask(life, topic, key, deadline)
            except WatermarkUnavailable:
                if time.monotonic() >= deadline or (life is not None and life is self._life):
                    raise  # else a fork in another thread has ended this connection, and there is another

    def _ask(self, life: Life | None, topic: str, key: bytes, deadline: float) -> list[bytes]:
        if life is None:
            raise WatermarkUnavailable("the watermark can't be read, another thread is forking")
        if not self.flush(deadline - time.monotonic()):
            raise WatermarkUnavailable(
                f"the watermark can't be read, Kafka doesn't answer: {life.error or 'timed out'}"
            )
        try:
            return life.call(self._read(life, topic, key, deadline), deadline - time.monotonic())
        except Exception as error:
            reason = f"{type(error).__name__} {error}" if life.connected.is_set() else f"no connection, {life.error}"
            raise WatermarkUnavailable(
                f"the watermark can't be read from {topic}: {reason}",
                hint="check that the topic exists and that this job may read it",
            ) from error

    async def _read(self, life: Life, topic: str, key: bytes, deadline: float) -> list[bytes]:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            await life.connected.wait()
            assert life.carrier is not None, "connected"
            return await life.carrier.read_values(topic, key)

    def _start(self, *, waiting: float = 0.0) -> Life | None:
        """The life of now, begun if there is none; None while a fork is under way, after `waiting` seconds for it."""
        if waiting > 0:
            self._whole.wait(waiting)
        with self._starting:
            if self._life is None and not self._forking:
                self._life = Life(self._live)
            return self._life

    @property
    def _forking(self) -> bool:
        return not self._whole.is_set()

    def _is_down(self) -> bool:
        life = self._life
        if life is None:
            return not self._forking
        return life.carrier is None and life.failures >= HOPELESS_FAILURES

    async def _live(self, life: Life) -> None:
        beating = asyncio.create_task(self._beat())
        try:
            await self._deliver(life)
        finally:
            beating.cancel()

    async def _deliver(self, life: Life) -> None:
        """Connect, send what earlier runs left, then what this one emits; start over when the connection fails."""
        down_since = time.monotonic()
        while not life.stopping:
            carrier = self._connect()
            try:
                await carrier.open()
                life.carrier, life.failures = carrier, 0
                await self._carry(carrier, life)
            except Exception as error:  # noqa: BLE001 - any failure to deliver ends in another attempt
                if life.carrier is not None:
                    down_since = time.monotonic()
                life.carrier, life.error = None, error
                self._note_failure(life, down_since)
            finally:
                life.carrier = None
                await carrier.close(life.closing_seconds)
            await asyncio.sleep(min(PAUSE_SECONDS[0] * 2 ** (life.failures - 1), PAUSE_SECONDS[1]))

    async def _carry(self, carrier: Carrier, life: Life) -> None:
        first_until = time.monotonic() + RESEND_FIRST_SECONDS
        while time.monotonic() < first_until and await self._resend_one(carrier):
            pass
        while not life.stopping:
            life.listen()
            if self._forking:
                await life.wait_news(FORK_SECONDS)
            elif batch := self._buffer.take(BATCH):
                failpoint("S2")  # pending until it is acknowledged
                await self._send(carrier, batch)
                await life.rest()
            elif not await self._resend_one(carrier):
                await life.wait_news(RESCAN_SECONDS)

    async def _send(self, carrier: Carrier, batch: list[Message]) -> None:
        failures: list[Exception] = []
        acknowledged: list[Message] = []

        def account() -> None:
            failpoint("S4")  # in the log, and perhaps sent again under the same ids
            self._buffer.acknowledge(acknowledged)
            acknowledged.clear()

        def settle(message: Message, error: Exception | None) -> None:
            if error is None:
                if not acknowledged:  # together: a lock taken for each would stand in the job's way
                    asyncio.get_running_loop().call_soon(account)
                acknowledged.append(message)
            elif isinstance(error, Rejected):
                warn_once("rejected", "Kafka refused an event for good: %s", error)
                self._buffer.settle(message, dropped="rejected")
            else:
                failures.append(error)

        await carrier.send(batch, settle)
        account()
        if failures:
            raise NotDelivered(f"{type(failures[0]).__name__} {failures[0]}")

    async def _resend_one(self, carrier: Carrier) -> bool:
        """Send one segment of the outbox, whole; whether there was one."""
        with self._outbox.claim() as segment:
            if segment is None:
                return False
            outcomes: dict[Message, Exception | None] = {}
            await carrier.send(segment.messages, outcomes.__setitem__)
            for error in outcomes.values():
                if error is not None and not isinstance(error, Rejected):
                    raise NotDelivered(f"{type(error).__name__} {error}")
            segment.delete()
            self._buffer.count_resent(message for message, error in outcomes.items() if error is None)
            return True

    async def _beat(self) -> None:
        while True:
            now = time.monotonic()
            for run in [run for run, due in list(self._beating.items()) if due <= now]:
                seconds = run.beat()
                if seconds is None:
                    self.unwatch(run)
                else:
                    self._beating[run] = now + seconds
            await asyncio.sleep(max(0.05, min([1.0, *(due - now for due in list(self._beating.values()))])))

    def _note_failure(self, life: Life, down_since: float) -> None:
        life.failures += 1
        self._buffer.put_back()
        warn_once(
            "kafka",
            "watchline can't reach Kafka, the job goes on and events wait for the next run: %s: %s",
            type(life.error).__name__,
            life.error,
        )
        now = time.monotonic()
        if now - down_since > SPOOL_AFTER_SECONDS and now >= self._spool_at:
            everything = self._buffer.spool(self._outbox.store, last=False)
            self._spool_at = now if everything else now + DISK_AGAIN_SECONDS
        self._buffer.notify()
