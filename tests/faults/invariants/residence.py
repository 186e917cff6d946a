"""How much memory processes hold, sampled while they run."""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
Samples = dict[str, list[tuple[float, int]]]


def resident(pid: int) -> int | None:
    """Resident bytes of a process; None when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):  # it ends while it is read
        return None


@asynccontextmanager
async def sampling(pids: Callable[[], Mapping[str, int]], *, seconds: float = 1.0) -> AsyncIterator[Samples]:
    """Seconds since the start and bytes of each process that `pids` names, under its name, while the block lasts."""
    samples: Samples = defaultdict(list)
    began = time.monotonic()

    async def sample() -> None:
        while True:
            for name, pid in pids().items():
                size = resident(pid)
                if size is not None:
                    samples[name].append((time.monotonic() - began, size))
            await asyncio.sleep(seconds)

    task = asyncio.create_task(sample())
    try:
        yield samples
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
