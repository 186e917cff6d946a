"""Trying again while Postgres is away, and knowing when that is of no use."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import structlog

from watchline.consumers.backoff import backoff
from watchline.consumers.sink.classification import Decision, classify, sqlstate_of
from watchline.consumers.sink.offsets import FenceLost
from watchline.schemas.errors import Misconfigured

log = structlog.get_logger(__name__)
T = TypeVar("T")
FIRST_RETRY_SECONDS = 0.1
UNHEALTHY_SECONDS = 60.0


class Stopped(Exception):
    """The service was told to stop while it waited for the database; the batch will be read again."""


class Resettable(Protocol):
    """What has a connection to throw away."""

    async def reset(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Persistence:
    """Repeats an action against `target` until it succeeds, `stop` is set or waiting is of no use."""

    target: Resettable
    stop: asyncio.Event
    retry_max_seconds: float

    async def until_done(self, action: Callable[[], Awaitable[T]]) -> T:
        """The result of `action`; it must be safe to repeat, for a lost connection doesn't say whether it was done.

        Raises Misconfigured for what only an operator can mend, FenceLost as it is, and Stopped when told to stop.
        """
        began, attempt = time.monotonic(), 1
        while True:
            try:
                return await action()
            except FenceLost:
                raise
            except Exception as error:  # asyncpg's errors share no base with each other
                if classify(error) is not Decision.RETRY:
                    raise hopeless(error) from error
                await self.target.reset()
                chance = random.random()  # noqa: S311 - no secret
                pause = backoff(attempt, chance, first=FIRST_RETRY_SECONDS, longest=self.retry_max_seconds)
                self._report(error, attempt, pause, time.monotonic() - began)
            await self._wait(pause)
            attempt += 1

    def _report(self, error: Exception, attempt: int, pause: float, waited: float) -> None:
        log.warning(
            "store.retried",
            error=type(error).__name__,
            sqlstate=sqlstate_of(error),
            attempt=attempt,
            pause=round(pause, 3),
            waited=round(waited, 1),
            healthy=waited < UNHEALTHY_SECONDS,
        )

    async def _wait(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.stop.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped


def hopeless(error: Exception) -> Exception:
    """What to tell the operator about an error that waiting won't cure."""
    state = sqlstate_of(error)
    if state is None:
        return error
    return Misconfigured(
        f"Postgres refuses to store ({state}): {error}",
        hint="run `watchline migrate`, and check the rights of the user in WATCHLINE_POSTGRES_DSN",
    )
