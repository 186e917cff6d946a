"""An asyncio host: tasks side by side, one of them cancelled."""

import asyncio
from contextlib import suppress

from harm.reporting import orders


async def work(number: int) -> int:
    """One run."""
    async with orders.run() as run:
        await asyncio.sleep(0)
        run.add(inserts=number)
        return number


async def hang(begun: asyncio.Event) -> None:
    """A run without end."""
    async with orders.run():
        begun.set()
        await asyncio.Event().wait()


async def main() -> None:
    """All of them."""
    begun = asyncio.Event()
    hanging = asyncio.create_task(hang(begun))
    print(sum(await asyncio.gather(*(work(number) for number in range(20)))))
    await begun.wait()
    hanging.cancel()
    with suppress(asyncio.CancelledError):
        await hanging


asyncio.run(main())
