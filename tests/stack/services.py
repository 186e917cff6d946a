"""Workers, sinks and notifiers of one test, started and ended by their pid."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from watchline.cli.local.child import Child
from watchline.schemas.topics import Topics

READY_SECONDS = 60.0
PARTITIONS = 4


@dataclass
class Services:
    """The processes of one Watchline; `environment` is what they all share."""

    folder: Path
    environment: dict[str, str]
    running: list[Child] = field(default_factory=list)
    started: int = 0

    @property
    def job_environment(self) -> dict[str, str]:
        """What a job needs to report to this Watchline."""
        return {**os.environ, **self.environment}

    def launch(self, command: str, **more: str) -> Child:
        """Start `watchline <command>` and don't wait: it may be told to die before it is ready."""
        self.started += 1
        name = f"{command}-{self.started}"
        child = Child(
            name,
            [sys.executable, "-m", "watchline.cli", command],
            log=self.folder / f"{name}.log",
            environment={**self.environment, "WATCHLINE_READY_FILE": str(self.folder / f"{name}.ready"), **more},
        )
        self.running.append(child)
        return child

    def start(self, command: str, **more: str) -> Child:
        """Start `watchline <command>` and return when it is ready."""
        child = self.launch(command, **more)
        child.wait_until((self.folder / f"{child.name}.ready").exists, seconds=READY_SECONDS)
        return child

    def stop_all(self) -> None:
        for child in reversed(self.running):
            child.stop(seconds=15)


@contextmanager
def services(
    folder: Path, bootstrap_servers: str, dsn: str, topics: Topics, more: Mapping[str, str] | None = None
) -> Iterator[Services]:
    """Services with short time-outs; all that run at the end are stopped."""
    made = Services(
        folder,
        {
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": bootstrap_servers,
            "WATCHLINE_POSTGRES_DSN": dsn,
            "WATCHLINE_TOPIC_PREFIX": topics.prefix,
            "WATCHLINE_PARTITIONS": str(PARTITIONS),
            "WATCHLINE_SESSION_TIMEOUT_SECONDS": "6",
            "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6",
            "WATCHLINE_PULSE_SECONDS": "1",
            "WATCHLINE_SETTLE_SECONDS": "1",
            **(more or {}),
        },
    )
    try:
        yield made
    finally:
        made.stop_all()


def wait_for(what: str, condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Return when `condition` holds; fail, saying what was waited for, when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)
