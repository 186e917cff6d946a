"""A child process that is waited for, stopped by its pid, and does not outlive its parent."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from watchline.schemas.errors import Unavailable

LAUNCHER = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.02
LOG_TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Account:
    """The user that a child of root becomes; `reach`: it may pass by file permissions all the same."""

    uid: int
    gid: int
    reach: bool = False


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def launch_command(command: Sequence[str], *, stop_signal: int, account: Account | None) -> list[str]:
    """The command line that becomes `command`, tied to this process."""
    uid, gid, reach = (account.uid, account.gid, account.reach) if account else (-1, -1, False)
    tie = (int(stop_signal), os.getpid(), uid, gid, int(reach))
    return [sys.executable, "-I", "-S", str(LAUNCHER), *map(str, tie), *command]


class Child:
    """One running program with its log file; `stdout` is a file descriptor that gets its output instead.

    On Linux the kernel ends it when the *thread* that started it ends, so start it from a thread that lives
    as long as the child should: the main one. Elsewhere a parent that is killed leaves it behind.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        log: Path,
        stop_signal: signal.Signals = signal.SIGTERM,
        account: Account | None = None,
        environment: Mapping[str, str] | None = None,
        stdout: int | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self._stop_signal = stop_signal
        with log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, no shell
                launch_command(command, stop_signal=stop_signal, account=account),
                stdin=subprocess.DEVNULL,
                stdout=output if stdout is None else stdout,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,  # Ctrl-C is for the parent, which stops its children in order
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; a signal is negative."""
        return self._process.poll()

    def wait_until(self, answers: Callable[[], bool], *, seconds: float) -> None:
        """Return when `answers` is true; raise `Unavailable` when the child ends before or time is up."""
        deadline = time.monotonic() + seconds
        while not answers():
            if self.exit_code is not None:
                raise Unavailable(f"{self.name} ended with code {self.exit_code}", hint=self.log_tail())
            if time.monotonic() > deadline:
                raise Unavailable(f"{self.name} did not answer within {seconds:g} s", hint=self.log_tail())
            time.sleep(POLL_SECONDS)

    def stop(self, *, seconds: float = 10.0) -> None:
        """Ask it to end, insist after `seconds`, and return when it has ended; again is harmless."""
        if self.exit_code is None:
            self._process.send_signal(self._stop_signal)
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL) and return when it has ended."""
        self._process.kill()
        self._process.wait()

    def log_tail(self) -> str:
        """The last lines of its log, with the path."""
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        return "\n".join([f"the end of {self.log}:", *lines])
