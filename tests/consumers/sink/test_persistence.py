"""Trying again while Postgres is away."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from watchline.consumers.sink.offsets import FenceLost
from watchline.consumers.sink.persistence import Persistence, Stopped
from watchline.schemas.errors import Misconfigured


class Target:
    """Counts how often its connection was thrown away."""

    def __init__(self) -> None:
        self.resets = 0

    async def reset(self) -> None:
        self.resets += 1


class Action:
    """Raises the given errors, one a call, then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def __call__(self) -> str:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"


def persistence(target: Target) -> Persistence:
    return Persistence(target, asyncio.Event(), retry_max_seconds=0.01)


async def test_a_lost_connection_is_replaced_until_the_action_succeeds() -> None:
    target = Target()
    action = Action(OSError(), asyncpg.InternalClientError("got unexpected"), TimeoutError())

    assert await persistence(target).until_done(action) == "done"

    assert (action.calls, target.resets) == (4, 3)


@pytest.mark.parametrize("error", [FenceLost([("t", 0)]), Misconfigured("no rights"), KeyError("a bug")])
async def test_what_waiting_does_not_cure_is_raised_at_once(error: Exception) -> None:
    action = Action(error)

    with pytest.raises(type(error)):
        await persistence(Target()).until_done(action)

    assert action.calls == 1


async def test_a_schema_error_becomes_a_message_for_the_operator() -> None:
    error = asyncpg.UndefinedColumnError('column "x" does not exist')

    with pytest.raises(Misconfigured, match="42703"):
        await persistence(Target()).until_done(Action(error))


async def test_told_to_stop_it_does_not_wait_for_the_next_try() -> None:
    stop = asyncio.Event()
    stop.set()

    with pytest.raises(Stopped):
        await Persistence(Target(), stop, retry_max_seconds=3600).until_done(Action(OSError(), OSError()))
