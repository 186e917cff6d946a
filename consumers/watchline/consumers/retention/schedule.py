"""The daily pass within the sink: a task beside it, with a connection of its own, in one of several sinks at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import structlog

from watchline.consumers.pause import pause
from watchline.consumers.retention.horizon import due_at
from watchline.consumers.retention.plan import TABLES, Plan
from watchline.consumers.retention.pruning import Pruner
from watchline.consumers.retention.session import begin, is_alone, session
from watchline.consumers.retention.settings import RetentionSettings

log = structlog.get_logger(__name__)
LOOK_SECONDS = 3600.0  # also after a failure, and when another sink is at work
STOP_SECONDS = 5.0
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The clock of a real sink; tests bring their own."""
    return datetime.now(UTC)


@asynccontextmanager
async def pruning(
    dsn: str, settings: RetentionSettings, stop: asyncio.Event, *, clock: Clock = utc_now
) -> AsyncIterator[None]:
    """Prune every day while the block runs. A batch in hand at its end is given up, which undoes it."""
    if not settings.prune:
        log.info("prune.off")
        yield
        return
    task = asyncio.create_task(prune_daily(dsn, settings, stop, clock=clock))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=STOP_SECONDS)


async def prune_daily(
    dsn: str, settings: RetentionSettings, stop: asyncio.Event, *, clock: Clock, look_seconds: float = LOOK_SECONDS
) -> None:
    """Prune when it is due, until `stop`; what goes wrong here is logged, and never disturbs the sink."""
    failures = 0
    while not stop.is_set():
        wait = look_seconds
        try:
            due = await prune_if_due(dsn, settings, stop, now=clock())
            wait = min(look_seconds, max(0.0, (due - clock()).total_seconds()) or look_seconds)
            failures = 0
        except Exception as error:  # noqa: BLE001 - logged and counted; the next look may do better
            failures += 1
            log.warning("prune.failed", error=type(error).__name__, detail=str(error)[:200], failures=failures)
        await pause(stop, wait)


async def prune_if_due(dsn: str, settings: RetentionSettings, stop: asyncio.Event, *, now: datetime) -> datetime:
    """Prune if it is time and nobody else does; when the next pass is due, in the past when this one left something."""
    async with session(dsn) as connection:
        await begin(connection)
        due = await due_at(connection, TABLES, now=now, hour=settings.prune_hour)
        if due > now:
            return due
        if not await is_alone(connection):
            log.info("prune.skipped", reason="another session prunes")
            return due
        # One that has just ended may have done it between our look and our lock.
        if (due := await due_at(connection, TABLES, now=now, hour=settings.prune_hour)) > now:
            return due
        began = time.monotonic()
        plan = Plan(now, settings.cutoffs(now))
        outcome = await Pruner(connection, plan, stop).prune()
        log.info(
            "prune.ended",
            deleted=dict(outcome.deleted),
            left=sorted(outcome.left),
            stopped=stop.is_set(),
            seconds=round(time.monotonic() - began, 1),
        )
        return await due_at(connection, TABLES, now=now, hour=settings.prune_hour)
