"""A Watchline set up by the commands of docs/production.md, with what stands for our addresses put in."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from docs.blocks import Block
from stack.services import Services
from watchline.schemas import Topics

SERVICES = frozenset({"streams", "sink", "notify"})
SECONDS = 60.0
# What the embedded broker needs to let a group start soon, and what keeps this Watchline apart from others.
QUICK = {"WATCHLINE_SESSION_TIMEOUT_SECONDS": "6", "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6"}


@dataclass
class Installation:
    """Running services, the environment that the document exports, and how each command ended."""

    folder: Path
    dsn: str
    topics: Topics
    environment: dict[str, str]
    codes: dict[str, int | None] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program as a job of this Watchline: `watchline` is on its PATH."""
        environment = {**os.environ, **self.environment, **variables}
        environment["PATH"] = f"{self.folder}{os.pathsep}{environment['PATH']}"
        return subprocess.run(
            command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip

    def note(self, command: str, done: subprocess.CompletedProcess[str]) -> None:
        self.codes[command], self.shown[command] = done.returncode, done.stdout + done.stderr


def environment_of(block: Block, stand_ins: Mapping[str, str]) -> dict[str, str]:
    """What the `export` lines set, each value replaced by the one that stands for it here."""
    exports = [line.removeprefix("export ") for line in block.commands if line.startswith("export ")]
    return {name: stand_ins[value] for name, _, value in (line.partition("=") for line in exports)}


def make_program(folder: Path, name: str, text: str) -> None:
    """A shell script that may be called by its name."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@contextmanager
def install(block: Block, folder: Path, dsn: str, stand_ins: Mapping[str, str]) -> Iterator[Installation]:
    """Run every line of `block`; the services go on running until the end."""
    make_program(folder, "watchline", f'exec {shlex.quote(sys.executable)} -m watchline.cli "$@"')
    topics = Topics(f"t{uuid4().hex[:12]}")
    environment = {
        **environment_of(block, stand_ins), **QUICK,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix, "WATCHLINE_OUTBOX_DIR": str(folder / "outbox"),
    }  # fmt: skip
    made = Installation(folder, dsn, topics, environment)
    running = Services(folder, environment)
    try:
        for command in block.commands:
            program, *arguments = command.split()
            if program == "watchline" and arguments[0] in SERVICES:
                made.codes[command] = running.start(arguments[0]).exit_code
            elif program == "watchline":
                made.note(command, made.run(*command.split()))
        yield made
    finally:
        running.stop_all()
