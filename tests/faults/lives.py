"""Services that are told where to die, and what must be left of them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Mapping

import pytest
from _pytest.mark import ParameterSet
from aiokafka import TopicPartition

from stack.services import Services
from watchline.cli.local.child import Child

DEATH_SECONDS = 60.0
Offsets = Mapping[TopicPartition, int]

# The dead member of a group keeps its partitions for a session, so the session is short.
QUICK = {
    "WATCHLINE_BATCH_SIZE": "20",
    "WATCHLINE_SESSION_TIMEOUT_SECONDS": "2",
    "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "4",
    "WATCHLINE_COMMIT_INTERVAL_SECONDS": "0.2",
    "WATCHLINE_PULSE_SECONDS": "0.3",
    "WATCHLINE_SETTLE_SECONDS": "0",
}


def points(all_of_them: Iterable[str], *, always: str) -> list[ParameterSet]:
    """Each as a case; all but one are left out unless the fault tests are asked for."""
    return [pytest.param(one, marks=() if one == always else pytest.mark.faults) for one in all_of_them]


async def die(running: Services, command: str, failpoint: str, **more: str) -> None:
    """Start a service and return when it has killed itself at `failpoint`; any other end is a failure."""
    await died(running.launch(command, WATCHLINE_FAILPOINT=failpoint, **more), failpoint)


async def died(child: Child, failpoint: str) -> None:
    """Wait until the failpoint has killed the process."""
    try:
        async with asyncio.timeout(DEATH_SECONDS):
            while child.exit_code is None:
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{child.name} never came to {failpoint}") from None
    assert child.exit_code == -signal.SIGKILL, f"{child.name}: {child.exit_code}\n{child.log.read_text()[-3000:]}"


async def dies_or_lives(running: Services, command: str, failpoint: str) -> bool:
    """Start a service: whether it has killed itself at `failpoint`; one that became ready instead is stopped."""
    child = running.launch(command, WATCHLINE_FAILPOINT=failpoint)
    ready = running.folder / f"{child.name}.ready"
    async with asyncio.timeout(DEATH_SECONDS):
        while child.exit_code is None and not ready.exists():
            await asyncio.sleep(0.02)
    child.stop(seconds=20)
    return child.exit_code == -signal.SIGKILL


async def fail(running: Services, command: str, failpoint: str) -> None:
    """Start a service that meets an error nobody foresaw, and return when it has given up."""
    child = running.launch(command, WATCHLINE_FAILPOINT=failpoint)
    async with asyncio.timeout(DEATH_SECONDS):
        while child.exit_code is None:
            await asyncio.sleep(0.02)
    assert child.exit_code == 1, f"{child.name}: {child.exit_code}"


def behind(reached: Offsets, ends: Offsets) -> dict[TopicPartition, int]:
    """The partitions that are not at their end yet."""
    return {place: end - reached.get(place, 0) for place, end in ends.items() if reached.get(place, 0) < end}
