"""The lanes of a notifier: one that fails ends all of them, and no failure is lost."""

from __future__ import annotations

import asyncio

import pytest
import structlog

from watchline.consumers.notifier.service import together
from watchline.schemas.errors import Misconfigured


async def test_the_first_failure_is_raised_by_itself_and_one_beside_it_is_logged() -> None:
    async def fail(why: str) -> None:
        raise Misconfigured(why, hint="")

    with structlog.testing.capture_logs() as captured, pytest.raises(Misconfigured, match="no table") as caught:
        await together([fail("no table"), fail("no right")])

    assert caught.value.__cause__ is None
    assert [(entry["event"], entry["reason"]) for entry in captured] == [
        ("notifier.failed_too", "Misconfigured: no right")
    ]


async def test_a_failure_ends_the_lanes_beside_it() -> None:
    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def fail() -> None:
        raise Misconfigured("wrong", hint="")

    with pytest.raises(Misconfigured):
        await together([wait(), fail()])

    assert ended.is_set()
