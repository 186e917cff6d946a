"""What the jobs of this folder report by: the SDK, or with HARM_BARE a stand-in that does nothing.

A job is the same file in both of its lives. What the SDK logs goes to `said.jsonl` and, as always, to stderr.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ["HARM_FOLDER"])


class Nothing:
    """Stands for a client, a pipeline and a run."""

    def __getattr__(self, name: str) -> Nothing:
        return self

    def __call__(self, *values: object, **options: object) -> Nothing:
        return self

    def __enter__(self) -> Nothing:
        return self

    def __exit__(self, *left: object) -> None:
        return None

    async def __aenter__(self) -> Nothing:
        return self

    async def __aexit__(self, *left: object) -> None:
        return None


class Listener(logging.Filter):
    """Writes down what the SDK logs, and lets it through."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true."""
        write_down("said.jsonl", {"pid": os.getpid(), "level": record.levelno, "text": record.getMessage()})
        return True


def write_down(name: str, fact: object) -> None:
    """Add a line to a file of this life; one system call, so lines of several processes never mix."""
    with (FOLDER / name).open("ab", buffering=0) as file:
        file.write(json.dumps(fact).encode() + b"\n")


def resident_kib(field: str) -> int:
    """`VmRSS` (now) or `VmHWM` (the most so far) of this process; 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(field)), 0)


def pause() -> None:
    """Let the test do something to the world when Kafka has what there is, and go on."""
    client.flush(2.0)
    print("paused", flush=True)
    sys.stdin.readline()


def open_client() -> Any:
    """The SDK's client, or nothing."""
    if os.environ.get("HARM_BARE"):
        return Nothing()
    from watchline.sdk import Watchline  # noqa: PLC0415 - a bare life must not load it

    logger = logging.getLogger("watchline.sdk")
    logger.addFilter(Listener())
    logger.setLevel(logging.INFO)
    return Watchline()


def open_pipeline(name: str) -> Any:
    """A pipeline of the client, or nothing."""
    if os.environ.get("HARM_BARE"):
        return Nothing()
    from watchline.sdk import Pipeline  # noqa: PLC0415 - as above

    return client.pipeline(Pipeline(name=name))


# Registered before the SDK can register anything, so it comes last.
atexit.register(lambda: write_down("peaks.jsonl", resident_kib("VmHWM")))
client = open_client()
orders = open_pipeline("orders")
