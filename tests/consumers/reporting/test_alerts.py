"""reporting.alert_load and delivery: what people were told, and how soon."""

from __future__ import annotations

from datetime import date, timedelta

import asyncpg

from filling.rows import alert, march, put, shown, told

LOAD = "day, owner, channel, messages, alerts, failed, suppressed"
TUESDAY, WEDNESDAY = date(2024, 3, 5), date(2024, 3, 6)


async def test_alerts_that_are_told_together_are_one_message(connection: asyncpg.Connection) -> None:
    first, second, third = [await alert(connection, march(5)) for _ in range(3)]
    await told(connection, march(5, 9), first, second, outcome="retry")
    await told(connection, march(5, 10), first, second)
    await told(connection, march(5, 11), third)
    await told(connection, march(6, 11), third)  # a reminder

    found = await shown(connection, "alert_load", LOAD)

    assert found == [(TUESDAY, "sales", "webhook", 2, 3, 0, 0), (WEDNESDAY, "sales", "webhook", 1, 1, 0, 0)]


async def test_a_post_counts_once_however_often_it_is_edited(connection: asyncpg.Connection) -> None:
    post = await put(connection, "alert_messages", channel="#data", channel_id="C1", ts="1", posted_at=march(5, 23))
    first, second = [await alert(connection, march(5), message_id=post) for _ in range(2)]
    noted = await alert(connection, march(6), message_id=post, quiet=True, transition="acknowledged")
    await told(connection, march(5, 23), first, channel="#data")
    await told(connection, march(6), first, second, noted, channel="#data")

    assert await shown(connection, "alert_load", LOAD) == [(TUESDAY, "sales", "#data", 1, 2, 0, 0)]


async def test_what_was_told_nowhere_has_no_channel(connection: asyncpg.Connection) -> None:
    await alert(connection, march(5), state="failed", sent_at=None)
    await alert(connection, march(5), state="suppressed", suppressed_reason="too_old", sent_at=None)
    await alert(connection, march(5), state="suppressed", suppressed_reason="too_old", sent_at=None)
    await alert(connection, march(5), state="pending", sent_at=None)
    await alert(connection, march(5), state="suppressed", quiet=True, sent_at=None)

    assert await shown(connection, "alert_load", LOAD) == [(TUESDAY, "sales", None, 0, 0, 1, 2)]


async def test_each_owner_of_a_digest_gets_the_message_and_their_own_alerts(connection: asyncpg.Connection) -> None:
    both = [await alert(connection, march(5), owner=owner) for owner in ("sales", "finance", "sales")]
    await told(connection, march(5, 1), *both)

    found = await shown(connection, "alert_load", "owner, messages, alerts")

    assert found == [("finance", 1, 1), ("sales", 1, 2)]


async def test_a_delivery_is_as_late_as_it_was_first_told(connection: asyncpg.Connection) -> None:
    reminded = await alert(
        connection, march(5), cause_at=march(5) - timedelta(seconds=90), sent_at=march(6), attempts=3
    )
    await told(connection, march(5, 0, 1), reminded, outcome="retry", channel="first")
    await told(connection, march(5, 0, 2), reminded, channel="second")
    await told(connection, march(6), reminded, channel="third")

    found = await shown(connection, "delivery", "sent_at, delay_seconds, channel, state, attempts, transition")

    assert found == [(march(5, 0, 2), 210, "third", "sent", 3, "opened")]


async def test_a_delivery_whose_answers_are_gone_has_the_time_and_the_post_of_its_alert(
    connection: asyncpg.Connection,
) -> None:
    post = await put(connection, "alert_messages", channel="#data", channel_id="C1", ts="1")
    await alert(connection, march(5), message_id=post, sent_at=march(5, 1))

    assert await shown(connection, "delivery", "channel, sent_at, delay_seconds") == [("#data", march(5, 1), 3600)]


async def test_what_was_not_told_has_no_delay_and_says_why(connection: asyncpg.Connection) -> None:
    await alert(connection, march(5), state="suppressed", suppressed_reason="snoozed", sent_at=None)
    await alert(connection, march(5), state="failed", last_error="403 no_service", sent_at=None)
    await alert(connection, march(5), quiet=True)

    found = await shown(connection, "delivery", "state, suppressed_reason, last_error, delay_seconds, channel")

    assert found == [("failed", None, "403 no_service", None, None), ("suppressed", "snoozed", None, None, None)]
