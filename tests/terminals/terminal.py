"""Running `watchline` as a person does: a process that is read, signalled and waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Protocol

import pytest

from terminals.processes import Process, processes_below

READY_SECONDS = 120.0
END_SECONDS = 60.0


class Terminal:
    """One running `watchline` with all that it has printed so far, stdout and stderr together."""

    def __init__(self, arguments: list[str], directory: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "watchline.cli", *arguments],
            cwd=directory,
            env={**os.environ, "COLUMNS": "120", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def shown(self) -> str:
        return "\n".join(self._lines)

    def wait_for(self, text: str, *, seconds: float = READY_SECONDS) -> str:
        """The first line that holds `text`; fails the test when it does not come in time."""
        with self._news:
            came = self._news.wait_for(
                lambda: any(text in line for line in self._lines) or not self._reader.is_alive(), seconds
            )
        found = next((line for line in self._lines if text in line), None)
        if not came or found is None:
            pytest.fail(f"{text!r} did not come; shown so far:\n{self.shown}")
        return found

    def processes(self) -> list[Process]:
        """Everything that it has started."""
        return processes_below(self._process.pid)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, *, seconds: float = END_SECONDS) -> int:
        """Its exit code; fails the test when it does not end in time."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"it did not end; shown so far:\n{self.shown}")
        self._reader.join(seconds)
        return code

    def close(self) -> None:
        """End it whatever it does."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line.rstrip("\n"))
                    self._news.notify_all()


class OpenTerminal(Protocol):
    """Starts `watchline` with these arguments; it is ended with the test."""

    def __call__(self, *arguments: str, environment: dict[str, str] | None = None) -> Terminal: ...
