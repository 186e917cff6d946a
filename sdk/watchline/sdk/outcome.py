"""What the way out of a block says about a run: a pure rule."""

from __future__ import annotations

import sys
from typing import Literal

Outcome = tuple[Literal["succeeded", "failed", "aborted"], BaseException | str | None]
KILLED = {130: "SIGINT", 143: "SIGTERM"}  # 128 + signal: how a handler usually leaves


def judge_exit(error: BaseException | None) -> Outcome:
    """Status and error of a run whose block was left by `error`.

    What comes from outside (Ctrl-C, cancellation, a generator that is closed, exit 130 or 143) aborts; `sys.exit(0)`
    succeeds, any other code fails, as for a process.
    """
    if error is None:
        return "succeeded", None
    if isinstance(error, SystemExit):
        return judge_code(error)
    if isinstance(error, KeyboardInterrupt | GeneratorExit) or is_cancelled(error):
        return "aborted", error
    return "failed", error


def judge_code(error: SystemExit) -> Outcome:
    """The outcome of `sys.exit(code)`; a text as code means 1, as in Python."""
    if error.code is None or error.code == 0:
        return "succeeded", None
    if isinstance(error.code, int) and error.code in KILLED:
        return "aborted", f"exit code {error.code} ({KILLED[error.code]})"
    if isinstance(error.code, int):
        return "failed", f"exit code {error.code}"
    return "failed", error


def is_cancelled(error: BaseException) -> bool:
    """Whether a task was cancelled; without asyncio loaded there are none."""
    loaded = sys.modules.get("asyncio")
    return loaded is not None and isinstance(error, loaded.CancelledError)
