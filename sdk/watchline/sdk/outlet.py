"""Where events go, as far as a run knows: the courier to Kafka, the terminal, or a list in a test."""

from __future__ import annotations

import sys
from typing import Protocol

from watchline.schemas.errors import WatermarkUnavailable
from watchline.sdk.harmless import harmless
from watchline.sdk.message import Counters, Message


class Beating(Protocol):
    """A run that shows it is alive; `beat` returns the seconds until the next call, None for no more."""

    def beat(self) -> float | None: ...


class Outlet(Protocol):
    """Takes messages without blocking or raising, and accounts for each."""

    def emit(self, message: Message) -> None: ...

    def refuse(self, reason: str) -> None:
        """Count an event that could not be made a message."""
        ...

    def counters(self) -> Counters: ...

    def flush(self, seconds: float) -> bool:
        """Wait until nothing is pending, at most `seconds`."""
        ...

    def close(self, seconds: float) -> None:
        """Deliver or store what is pending within `seconds`, and free what is held; a later message starts anew."""
        ...

    def watch(self, run: Beating, seconds: float) -> None:
        """Call the run's `beat` from now on, first after `seconds`."""
        ...

    def unwatch(self, run: Beating) -> None: ...

    def read_values(self, topic: str, key: bytes, seconds: float) -> list[bytes]:
        """All values of a key in the log, oldest first, or WatermarkUnavailable within `seconds`."""
        ...


class Nowhere:
    """Counts what it is given, delivers nothing and knows no log; what the terminal and the recorder share."""

    def __init__(self) -> None:
        self._acknowledged = 0
        self._refused: dict[str, int] = {}

    def emit(self, message: Message) -> None:
        """Hand over at once."""
        self.deliver(message)
        self._acknowledged += 1

    def deliver(self, message: Message) -> None:
        """Do something with the message."""

    def refuse(self, reason: str) -> None:
        """Count an event that could not be made a message."""
        self._refused[reason] = self._refused.get(reason, 0) + 1

    def counters(self) -> Counters:
        """What became of every event."""
        dropped = dict(self._refused)
        return Counters(self._acknowledged + sum(dropped.values()), self._acknowledged, dropped=dropped)

    def flush(self, seconds: float) -> bool:  # noqa: ARG002 - nothing is ever pending
        """Nothing is ever pending."""
        return True

    def close(self, seconds: float) -> None:
        """Nothing is held."""

    def watch(self, run: Beating, seconds: float) -> None:
        """No heartbeats: nobody would judge their absence."""

    def unwatch(self, run: Beating) -> None:
        """No heartbeats."""

    def read_values(self, topic: str, key: bytes, seconds: float) -> list[bytes]:  # noqa: ARG002 - the Protocol's
        """There is no log to read."""
        raise WatermarkUnavailable("a dry run reads no watermark", hint="give the run one: pipeline.run(watermark=…)")


class Console(Nowhere):
    """Prints each event on stderr: a dry run."""

    def deliver(self, message: Message) -> None:
        """Print topic and event on one line."""
        with harmless("printing an event"):
            print(message.topic, message.value.decode(), file=sys.stderr, flush=True)  # noqa: T201 - asked for
