"""Waiting for what services do, with a deadline that says what did not come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any


async def until(what: str, condition: Callable[[], Awaitable[Any]], *, seconds: float = 60.0) -> None:
    """Return when `condition` gives something true; AssertionError names `what` after `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            while not await condition():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None
