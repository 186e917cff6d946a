"""What follows for the rows of the outbox from what became of a message."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from watchline.consumers.notifier import statements
from watchline.consumers.notifier.alert import Alert, Message, Post
from watchline.consumers.notifier.route import Delivery

if TYPE_CHECKING:  # a generic to the type checker only
    import asyncpg

    Connection = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]


async def mark_sent(connection: Connection, message: Message, delivery: Delivery, repeat: timedelta) -> list[str]:
    """Note that people have heard it, in which post, and when they are to be reminded."""
    message_id = await _note_post(connection, message, delivery.last.post)
    incidents, still_open = _open_ends(message)
    news, refreshed = _news_and_rest(message)
    await connection.execute(statements.MARK_SENT, news, still_open, repeat, message_id)
    await connection.execute(statements.END_REMINDERS, incidents)
    if refreshed:
        ids, times = [alert.alert_id for alert in refreshed], [alert.refresh_at for alert in refreshed]
        await connection.execute(statements.MARK_REFRESHED, ids, times, message_id)
    return ["sent"] * len(message.alerts)


async def mark_later(
    connection: Connection, message: Message, delivery: Delivery, give_up_after: timedelta, repeat: timedelta
) -> list[str]:
    """Note when it is tried again; what was in doubt before, or is now, stays so until it is known."""
    news, refreshed = _news_and_rest(message)
    wait = timedelta(seconds=delivery.wait)
    doubt = message.in_doubt_since is not None or delivery.is_in_doubt
    rows = await connection.fetch(statements.MARK_RETRY, news, error_of(delivery), wait, give_up_after, repeat, doubt)
    await connection.execute(statements.REFRESH_LATER, [alert.alert_id for alert in refreshed], wait)
    return [row["state"] for row in rows]


async def mark_failed(connection: Connection, message: Message, delivery: Delivery, repeat: timedelta) -> list[str]:
    """Note that it can't be told; a reminder tries again."""
    news, refreshed = _news_and_rest(message)
    rows = await connection.fetch(statements.MARK_FAILED, news, error_of(delivery), repeat)
    await connection.execute(statements.REFRESH_LATER, [alert.alert_id for alert in refreshed], repeat)
    return [row["state"] for row in rows]


def error_of(delivery: Delivery) -> str:
    """The last answer in one line."""
    outcome = delivery.last
    parts = [str(part) for part in (outcome.http_status, outcome.detail) if part is not None]
    return " ".join(parts) or outcome.result


async def _note_post(connection: Connection, message: Message, post: Post | None) -> int | None:
    """The id of the post that the message has become; one that takes the place of another shows all of it."""
    if post is None:
        return None
    message_id: int = await connection.fetchval(statements.POSTED, *post)
    if message.post is not None and message.post != post:
        await connection.execute(statements.MOVED, message.post.channel_id, message.post.ts, message_id)
    return message_id


def _news_and_rest(message: Message) -> tuple[list[int], list[Alert]]:
    """The ids of alerts that say something, and those that only bring their post up to date."""
    return [alert.alert_id for alert in message.news], [a for a in message.alerts if a.refresh_at is not None]


def _open_ends(message: Message) -> tuple[list[UUID], list[int]]:
    """The incidents of a message, and of each that is still open the alert that will be repeated."""
    newest: dict[UUID, Alert] = {}
    loud = (alert for alert in message.alerts if not alert.is_silent)
    for alert in sorted(loud, key=lambda each: each.incident.transition_no):
        newest[alert.incident.incident_id] = alert
    still_open = [alert.alert_id for alert in newest.values() if alert.incident.transition != "resolved"]
    return list(newest), still_open
