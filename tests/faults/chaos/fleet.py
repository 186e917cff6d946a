"""The services of the run, kept alive as an init system would, and ended on purpose by the faults."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from stack.services import Services
from watchline.cli.local.child import Child

WATCH_SECONDS = 0.1
AGAIN_SECONDS = 0.5  # as an init system waits before it starts something again
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Exit:
    """A process that ended although nobody had asked it to."""

    name: str
    at: float  # seconds of the run
    code: int
    was_ready: bool
    last_words: str

    @property
    def refused(self) -> bool:
        """It never began: an address did not answer yet, which it says and leaves to whoever starts it."""
        return not self.was_ready


@dataclass
class Slot:
    """A place for one process."""

    name: str
    command: str
    environment: Mapping[str, str]
    wanted: bool = False
    child: Child | None = None
    not_before: float = 0.0


@dataclass
class Fleet:
    """Places by name; what is wanted runs, and what ends on its own is started again and noted."""

    services: Services
    slots: dict[str, Slot] = field(default_factory=dict)
    exits: list[Exit] = field(default_factory=list)
    slow_stops: list[tuple[str, float]] = field(default_factory=list)
    longest_stop: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def place(self, name: str, command: str, **environment: str) -> None:
        """Make room for a process; it is not started yet."""
        self.slots[name] = Slot(name, command, environment)

    async def keep(self) -> None:
        """Start what is wanted and does not run, for ever."""
        while True:
            for slot in self.slots.values():
                self._look_after(slot)
            await asyncio.sleep(WATCH_SECONDS)

    def start(self, name: str) -> None:
        """Want a process from now on."""
        slot = self.slots[name]
        slot.wanted, slot.not_before = True, 0.0
        self._look_after(slot)

    async def ready(self, name: str, *, seconds: float = 90.0) -> None:
        """Wait until the process that runs there now says that it works."""
        async with asyncio.timeout(seconds):
            while not self.is_ready(self.slots[name]):
                await asyncio.sleep(WATCH_SECONDS)

    def kill(self, name: str) -> None:
        """SIGKILL, and start nothing in its place."""
        slot = self.slots[name]
        child, slot.wanted, slot.child = slot.child, False, None
        if child is not None:
            child.kill()

    async def stop(self, name: str, *, seconds: float = STOP_SECONDS) -> None:
        """SIGTERM, and SIGKILL when it takes longer than it may; start nothing in its place."""
        slot, began = self.slots[name], time.monotonic()
        child, slot.wanted, slot.child = slot.child, False, None
        if child is None or child.exit_code is not None:
            return
        os.kill(child.pid, signal.SIGTERM)
        while child.exit_code is None and time.monotonic() - began < seconds:
            await asyncio.sleep(0.05)
        took = time.monotonic() - began
        self.longest_stop = max(self.longest_stop, took)
        if child.exit_code is None:
            self.slow_stops.append((child.name, took))
            child.kill()

    def send(self, name: str, number: signal.Signals) -> None:
        """A signal to the process, if one runs."""
        child = self.slots[name].child
        if child is not None and child.exit_code is None:
            os.kill(child.pid, number)

    @property
    def gave_up(self) -> list[Exit]:
        """Those that had worked, and ended without being told."""
        return [one for one in self.exits if not one.refused]

    def is_ready(self, slot: Slot) -> bool:
        child = slot.child
        return child is not None and child.exit_code is None and self._ready_file_exists(child)

    def _look_after(self, slot: Slot) -> None:
        if not slot.wanted or time.monotonic() < slot.not_before:
            return
        child = slot.child
        if child is not None and child.exit_code is None:
            return
        if child is not None and slot.not_before == 0.0:
            self._note(child)
            slot.not_before = time.monotonic() + AGAIN_SECONDS
            return
        slot.child, slot.not_before = self.services.launch(slot.command, **slot.environment), 0.0

    def _note(self, child: Child) -> None:
        code = child.exit_code
        assert code is not None
        at, words = time.monotonic() - self.began, child.log_tail()
        self.exits.append(Exit(child.name, at, code, self._ready_file_exists(child), words))

    def _ready_file_exists(self, child: Child) -> bool:
        return (self.services.folder / f"{child.name}.ready").exists()
