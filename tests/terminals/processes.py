"""Processes as the operating system sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]  # ships no types

GONE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Process:
    """One process, safe against its pid being used again."""

    handle: psutil.Process
    command: str

    def kill(self) -> None:
        """SIGKILL."""
        self.handle.kill()


def processes_below(pid: int) -> list[Process]:
    """Everything that `pid` has started, and what that has started."""
    return [Process(child, " ".join(child.cmdline())) for child in psutil.Process(pid).children(recursive=True)]


def all_gone(processes: Sequence[Process]) -> bool:
    """Whether all of them end within GONE_SECONDS; a zombie has ended."""
    _, alive = psutil.wait_procs([each.handle for each in processes], timeout=GONE_SECONDS)
    return all(each.status() == psutil.STATUS_ZOMBIE for each in alive)
