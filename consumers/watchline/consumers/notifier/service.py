"""The notifier: from the outbox to people, at least once."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import uuid4

import asyncpg
import structlog

from watchline.consumers.backoff import backoff
from watchline.consumers.database import connect
from watchline.consumers.notifier.alert import Message
from watchline.consumers.notifier.channel import Outcome
from watchline.consumers.notifier.channels import Channels, open_channels
from watchline.consumers.notifier.grouping import plan_messages
from watchline.consumers.notifier.outbox import Outbox, translated
from watchline.consumers.notifier.route import Attempt, Delivery, Route
from watchline.consumers.notifier.settings import NotifierSettings
from watchline.consumers.notifier.triage import Triage
from watchline.schemas.errors import Unavailable
from watchline.schemas.failpoints import failpoint
from watchline.schemas.printing import printable

APPLICATION = "watchline-notifier"
GROUPS_PER_CLAIM = 500
MAX_DATABASE_DELAY = 10.0
COMMAND_SECONDS = 30.0
MAX_CONNECTIONS = 8
MAX_UNANSWERED = 1  # deaths over one message, where nobody can be asked whether it was accepted

log = structlog.get_logger(__name__)


async def run(settings: NotifierSettings, stop: asyncio.Event) -> None:
    """Tell people of every alert in the outbox until `stop` is set, then finish the messages in flight.

    Each alert is accepted by a channel at least once. It is told twice only when we die, or lose Postgres, between
    the acceptance and the mark, and the channel can't be asked. Raises `Misconfigured` for a refused address or
    schema, and `Unavailable` when Postgres can't be reached at the start.
    """
    channels = await asyncio.to_thread(open_channels, settings)  # looks the hosts up
    try:
        async with open_outbox(settings, channels) as outbox:
            known = await outbox.prepare(list(channels.routes))
            for channel in channels.bots:
                channel.channel_id = channel.channel_id or known.get(channel.name)
            log.info("notifier.started", channels=[each.name for each in channels.all], holder=outbox.holder)
            await together(notify(outbox, name, route, settings, stop) for name, route in channels.routes.items())
    finally:
        for each in channels.all:
            await each.close()
        log.info("notifier.stopped")


async def together(lanes: Iterable[Coroutine[None, None, None]]) -> None:
    """Run all until they end; the first error ends the others and is raised by itself, further ones are logged."""
    try:
        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(lane)
    except BaseExceptionGroup as errors:
        first, *others = errors.exceptions
        for other in others:
            log.error("notifier.failed_too", reason=printable(f"{type(other).__name__}: {other}", 400))
        raise first from None


async def notify(
    outbox: Outbox, destination: str, route: Route, settings: NotifierSettings, stop: asyncio.Event
) -> None:
    """Deliver what is due at one destination, again and again; while no channel is ready nothing is claimed."""
    failures = 0
    while not stop.is_set():
        await pause(stop, route.ready_in())
        if stop.is_set():
            break
        try:
            busy = await deliver_due(outbox, destination, route, settings, stop)
            failures = 0
        except Unavailable as error:
            failures += 1
            log.warning("database.unavailable", detail=str(error), failures=failures)
            await pause(stop, backoff(failures, 0.5, longest=MAX_DATABASE_DELAY))
            continue
        if not busy:
            await pause(stop, settings.poll_seconds)


async def deliver_due(
    outbox: Outbox, destination: str, route: Route, settings: NotifierSettings, stop: asyncio.Event
) -> bool:
    """Claim, group, send, mark; says whether there was anything to send.

    The mark comes last: a crash before it lets the lease run out, and the message is looked for, or sent again.
    Nothing that was claimed and not sent stays claimed.
    """
    claim = await outbox.claim(destination, GROUPS_PER_CLAIM, edits=route.edits)
    if claim.now is None:
        return False
    failpoint("N1")  # the lease frees them
    plan = plan_messages(claim.alerts, claim.last_sent, claim.now, settings.timing, edits=route.edits)
    refreshed = [alert.alert_id for alert in claim.alerts if alert.refresh_at is not None]
    await outbox.suppress(plan.untold, "ended before anybody heard of it", destination)
    await outbox.suppress(plan.unshown, "nothing to edit", destination)
    await outbox.defer(plan.waiting, refreshed, destination)
    for planned in plan.messages:
        if not await is_ready(route, stop):
            break
        if not await outbox.renew(planned, destination):
            continue
        message = await outbox.complete(planned)
        old = claim.now - message.oldest_at >= timedelta(seconds=settings.give_up_after_seconds)
        delivery = await send(message, route, last_chance=old)
        failpoint("N3")  # heard, not marked: looked for, or heard once more
        states = await outbox.mark(message, delivery)
        failpoint("N4")  # marked: never again
        report(message, delivery, states)
    await outbox.release(destination)
    return bool(plan.messages)


async def send(message: Message, route: Route, *, last_chance: bool) -> Delivery:
    """Send it, unless it was sent twice already and somebody died over both: then a reminder has to do."""
    if message.unanswered > MAX_UNANSWERED and not route.edits:
        return Delivery((Attempt("none", Outcome("rejected", detail="sent twice without our seeing an answer")),), 0.0)
    return await route.send(message, last_chance=last_chance)


async def is_ready(route: Route, stop: asyncio.Event) -> bool:
    """Wait for the pace of the channel, but not for one that is parked for longer."""
    wait = route.ready_in()
    if wait > route.pace:
        return False
    await pause(stop, wait)
    return not stop.is_set()


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait, but not a moment longer than until `stop`."""
    if seconds <= 0:
        return
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass  # nobody asked us to stop


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


@asynccontextmanager
async def open_outbox(settings: NotifierSettings, channels: Channels) -> AsyncIterator[Outbox]:
    """Connect to Postgres; `Unavailable` says where it was looked for, without the password."""
    dsn = settings.postgres_dsn.get_secret_value()
    await (await connect(dsn, application=APPLICATION)).close()  # the pool's own errors say less
    with translated():
        pool = await asyncpg.create_pool(
            dsn,
            min_size=1,
            max_size=min(len(channels.routes) + 1, MAX_CONNECTIONS),
            command_timeout=COMMAND_SECONDS,
            server_settings={"application_name": APPLICATION, "search_path": "public"},
        )
    try:
        yield Outbox(
            pool=pool,
            holder=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}",
            lease=timedelta(seconds=settings.lease_seconds),
            timing=settings.timing,
            give_up_after=timedelta(seconds=settings.give_up_after_seconds),
            triage=Triage(settings.rules, channels.default, settings.timing),
        )
    finally:
        await pool.close()
