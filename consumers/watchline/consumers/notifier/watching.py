"""What runs beside the alerts in the notifier: the watch over ingestion and the dead man's switch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import asyncpg

from watchline.consumers.notifier.address import Refused, check_webhook, public_addresses
from watchline.consumers.watch.service import keep_watch
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.switch import DeadManSwitch, keep_pinging
from watchline.consumers.watch.vitals import Vitals
from watchline.schemas.errors import Misconfigured

HINT = "copy the address from the service that is to miss the pings"


@asynccontextmanager
async def watching(
    settings: WatchSettings, pool: asyncpg.Pool[asyncpg.Record], stop: asyncio.Event
) -> AsyncIterator[Vitals]:
    """Watch ingestion, and ping while all works, until the end of the block; it sets `passed_at`.

    Raises `Misconfigured` when the address of the switch is refused.
    """
    vitals = Vitals()
    switch = await asyncio.to_thread(open_switch, settings)  # looks the host up
    tasks = [asyncio.create_task(keep_watch(pool, settings, vitals, stop))]
    if switch is not None:
        tasks.append(asyncio.create_task(keep_pinging(switch, settings, vitals, stop)))
    try:
        yield vitals
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if switch is not None:
            await switch.close()


def open_switch(settings: WatchSettings) -> DeadManSwitch | None:
    """The switch, if there is an address; it must be https at a public host, whichever that is."""
    if settings.dead_man_url is None:
        return None
    url, lax = settings.dead_man_url.get_secret_value(), settings.dead_man_allow_insecure
    try:
        check_webhook(url, [urlsplit(url).hostname or ""], allow_insecure=lax)
    except (Refused, ValueError) as error:
        why = error.why if isinstance(error, Refused) else "it is no URL"
        raise Misconfigured(f"WATCHLINE_DEAD_MAN_URL is refused: {why}", hint=HINT) from None
    return DeadManSwitch(settings.dead_man_url, locate=None if lax else public_addresses)
