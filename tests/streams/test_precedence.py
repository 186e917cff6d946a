"""Declarations go before runs."""

from __future__ import annotations

import asyncio

from watchline.streams.precedence import Precedence


async def test_the_second_agent_waits_for_what_is_queued_and_what_is_being_finished() -> None:
    queue: asyncio.Queue[int] = asyncio.Queue()
    queue.put_nowait(1)
    first, order = Precedence(), list[str]()
    first.watch(queue)

    async def declare() -> None:
        await queue.get()
        with first.working():
            await asyncio.sleep(0)
            order.append("declared")

    async def run() -> None:
        await first.wait()
        order.append("run")

    await asyncio.gather(run(), declare())

    assert order == ["declared", "run"]
    assert first.idle


async def test_nobody_waits_for_an_agent_without_work() -> None:
    first = Precedence()

    await asyncio.wait_for(first.wait(), 1)

    assert first.idle
