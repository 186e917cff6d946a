"""The notifier: from the outbox to people, at least once."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import asyncpg
import structlog

from watchline.consumers.backoff import backoff
from watchline.consumers.database import connect
from watchline.consumers.notifier.address import check_webhook, public_addresses
from watchline.consumers.notifier.channel import Channel
from watchline.consumers.notifier.grouping import Message, plan_messages
from watchline.consumers.notifier.outbox import Outbox, translated
from watchline.consumers.notifier.route import Delivery, Route
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.notifier.slack import SlackChannel
from watchline.consumers.notifier.terminal import TerminalChannel
from watchline.consumers.notifier.watching import watching
from watchline.consumers.pause import pause
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.vitals import Vitals
from watchline.schemas.errors import Unavailable
from watchline.schemas.failpoints import failpoint
from watchline.schemas.printing import printable

APPLICATION = "watchline-notifier"
GROUPS_PER_CLAIM = 500
MAX_DATABASE_DELAY = 10.0
COMMAND_SECONDS = 30.0

log = structlog.get_logger(__name__)


async def run(settings: NotifierSettings, stop: asyncio.Event, watch: WatchSettings | None = None) -> None:
    """Tell people of every alert in the outbox until `stop` is set, then finish the message in flight.

    Each alert is accepted by a channel at least once, and twice only when we die or lose Postgres between the
    acceptance and the mark. Beside it ingestion is watched as `watch` says, or the environment. Raises `Misconfigured`
    for a refused address or schema, and `Unavailable` when Postgres can't be reached at the start.
    """
    channels = await asyncio.to_thread(open_channels, settings)  # looks the hosts up
    route = Route(channels, messages_per_second=settings.messages_per_second)
    try:
        async with open_outbox(settings) as outbox:
            log.info("notifier.started", channels=[each.name for each in channels], holder=outbox.holder)
            async with watching(watch or WatchSettings.from_environment(), outbox.pool, stop) as vitals:
                await notify(outbox, route, settings, stop, vitals)
    finally:
        for channel in channels:
            await channel.close()
        log.info("notifier.stopped")


async def notify(outbox: Outbox, route: Route, settings: NotifierSettings, stop: asyncio.Event, vitals: Vitals) -> None:
    """Deliver what is due, again and again; while no channel is ready nothing is claimed."""
    failures = 0
    while not stop.is_set():
        await pause(stop, route.ready_in())
        if stop.is_set():
            break
        try:
            busy = await deliver_due(outbox, route, settings, stop)
            failures = 0
            vitals.passed_at = time.monotonic()
        except Unavailable as error:
            failures += 1
            log.warning("database.unavailable", detail=str(error), failures=failures)
            await pause(stop, backoff(failures, 0.5, longest=MAX_DATABASE_DELAY))
            continue
        if not busy:
            await pause(stop, settings.poll_seconds)


async def deliver_due(outbox: Outbox, route: Route, settings: NotifierSettings, stop: asyncio.Event) -> bool:
    """Claim, group, send, mark; says whether there was anything to send.

    The mark comes last: a crash before it lets the lease run out, and the message is sent again. Nothing that
    was claimed and not sent stays claimed.
    """
    claim = await outbox.claim(GROUPS_PER_CLAIM)
    if claim.now is None:
        return False
    failpoint("N1")  # the lease frees them
    plan = plan_messages(claim.alerts, claim.last_sent, claim.now, settings.timing)
    await outbox.suppress(plan.untold, "ended before anybody heard of it")
    await outbox.defer(plan.waiting)
    for message in plan.messages:
        if not await is_ready(route, stop):
            break
        if await outbox.renew(message):
            old = claim.now - message.oldest_at >= timedelta(seconds=settings.give_up_after_seconds)
            delivery = await route.send(message, last_chance=old)
            failpoint("N3")  # heard, not marked: heard once more
            states = await outbox.mark(message, delivery)
            failpoint("N4")  # marked: never again
            report(message, delivery, states)
    await outbox.release()
    return bool(plan.messages)


async def is_ready(route: Route, stop: asyncio.Event) -> bool:
    """Wait for the pace of the channel, but not for one that is parked for longer."""
    wait = route.ready_in()
    if wait > route.pace:
        return False
    await pause(stop, wait)
    return not stop.is_set()


def report(message: Message, delivery: Delivery, states: list[str]) -> None:
    """Log what became of a message."""
    first = message.alerts[0].incident
    facts = {
        "pipeline": printable(first.pipeline, 200),
        "alerts": len(message.alerts),
        "channel": delivery.attempts[-1].channel if delivery.attempts else None,
        "status": delivery.last.http_status,
    }
    if delivery.last.result == "accepted":
        log.info("message.sent", **facts)
    elif "failed" in states:
        log.error("message.failed", detail=delivery.last.detail, **facts)
    else:
        log.warning("message.deferred", detail=delivery.last.detail, seconds=round(delivery.wait, 1), **facts)


def open_channels(settings: NotifierSettings) -> list[Channel]:
    """The channels that are configured, the preferred one first; the terminal when there is none."""
    named = {"slack": settings.slack_webhook_url, "slack-fallback": settings.slack_fallback_webhook_url}
    addresses = {name: url for name, url in named.items() if url is not None}
    for url in addresses.values():
        check_webhook(
            url.get_secret_value(), settings.slack_allowed_hosts, allow_insecure=settings.slack_allow_insecure
        )
    if not addresses:
        return [TerminalChannel()]
    timeout = settings.request_timeout_seconds
    locate = None if settings.slack_allow_insecure else public_addresses
    return [SlackChannel(url, name=name, timeout=timeout, locate=locate) for name, url in addresses.items()]


@asynccontextmanager
async def open_outbox(settings: NotifierSettings) -> AsyncIterator[Outbox]:
    """Connect to Postgres; `Unavailable` says where it was looked for, without the password."""
    dsn = settings.postgres_dsn.get_secret_value()
    await (await connect(dsn, application=APPLICATION)).close()  # the pool's own errors say less
    with translated():
        pool = await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=3,
            command_timeout=COMMAND_SECONDS,
            server_settings={"application_name": APPLICATION, "search_path": "public"},
        )
    try:
        yield Outbox(
            pool=pool,
            holder=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}",
            lease=timedelta(seconds=settings.lease_seconds),
            group_interval=settings.timing.group_interval,
            repeat_interval=settings.timing.repeat_interval,
            give_up_after=timedelta(seconds=settings.give_up_after_seconds),
        )
    finally:
        await pool.close()
