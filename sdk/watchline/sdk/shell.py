"""A shell command as a run: its exit code, signals and streams stay its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from watchline.sdk.run import Run, Status

FORWARDED = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT")
NOT_FOUND = 127
NOT_EXECUTABLE = 126


def run_command(command: Sequence[str], run: Run) -> int:
    """Run a command within `run` and return its exit code as a shell would: 128 + n for signal n.

    The command inherits stdin, stdout and stderr, finds the run in WATCHLINE_RUN_ID, and gets the signals that we get.
    """
    with Forwarding() as forwarding:
        run.begin()
        try:
            child = subprocess.Popen(command, env=os.environ | {"WATCHLINE_RUN_ID": str(run.id)})  # noqa: S603 - as asked
        except OSError as error:
            run.end("failed", error)
            print(f"watchline: {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201 - what a shell says
            return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        forwarding.to(child)
        code = child.wait()
    run.end(*judge_command(code, interrupted=forwarding.seen))
    return code if code >= 0 else 128 - code


def judge_command(code: int, *, interrupted: int | None) -> tuple[Status, str | None]:
    """Status and error of a command that ended with `code` (negative: a signal), after it was sent `interrupted`."""
    if code == 0:
        return "succeeded", None
    error = f"exit code {code}" if code > 0 else f"killed by {signal_name(-code)}"
    if interrupted is not None:
        return "aborted", f"{error} after {signal_name(interrupted)}"
    return ("aborted" if -code in {signal.SIGINT, signal.SIGTERM} else "failed"), error


def signal_name(number: int) -> str:
    """SIGTERM for 15."""
    with_name = {item.value: item.name for item in signal.Signals}
    return with_name.get(number, f"signal {number}")


class Forwarding:
    """While it lasts, signals for us go to the child; those that come before there is one are kept for it."""

    def __init__(self) -> None:
        self.seen: int | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Forwarding:
        for name in FORWARDED:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *left: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def to(self, child: subprocess.Popen[bytes]) -> None:
        """Forward to this child, at once what has come already."""
        self._child = child
        if self.seen is not None:
            child.send_signal(self.seen)

    def _receive(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the shape of a handler
        self.seen = number
        if self._child is not None and not (number in TYPED and shares_terminal()):
            self._child.send_signal(number)


TYPED = {getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name)}


def shares_terminal() -> bool:
    """Whether the terminal sends what is typed to the child as well, which must not get it twice."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, AttributeError):
        return False
