"""One message that is edited through the life of its incident, on a real Postgres and a workspace of our own."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest
import structlog

from slack.fake import RESET, Answer, FakeSlack
from slack.incidents import after, changed, enqueue, incident, reach, record, resolved
from slack.workspace import FakeWorkspace, Posted

Start = Callable[..., Awaitable[asyncio.Event]]
Bot = Mapping[str, Any]
DATA = "C000DATA"


async def test_an_incident_is_one_message_that_says_how_it_ended(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident()
    await start(**bot)

    await reach(connection, await enqueue(connection, opened), "state = 'sent'")
    end = await enqueue(connection, resolved(opened, after(hours=3)))
    await reach(connection, end, "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert "🔴 orders_daily" in post.earlier[0]
    assert post.text.startswith("✅ orders_daily: inserts below the expected range (resolved after 3 h)")
    assert [each.text.splitlines()[0] for each in workspace.thread(DATA, post.ts)] == [post.text.splitlines()[0]]


async def test_a_post_and_its_channel_are_remembered_with_its_alerts(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    await start(**bot)

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    rows = await connection.fetch(
        "select channel, channel_id, ts from alert_messages join alert_outbox using (message_id)"
    )
    assert [tuple(row) for row in rows] == [(DATA, DATA, workspace.posts(DATA)[0].ts)]


async def test_a_change_that_calls_nobody_edits_the_message_and_stands_in_its_thread(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident()
    await start(**bot)
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")

    await record(connection, changed(opened, title="inserts far below the expected range"))
    await workspace.until(lambda: len(workspace.messages[DATA]) == 2)

    (post,) = workspace.posts(DATA)
    (reply,) = workspace.thread(DATA, post.ts)
    assert "inserts far below" in post.text
    assert "inserts far below" in reply.text
    assert not reply.broadcast


async def test_a_change_that_calls_nobody_is_not_sent_over_a_webhook(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    opened = incident()
    await start()
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")

    await record(connection, changed(opened))
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")

    assert len(slack.requests) == 2


async def test_an_incident_that_gets_worse_calls_the_channel_from_the_thread(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident(severity="warn")
    await start(**bot)
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")

    await reach(connection, await enqueue(connection, changed(opened, severity="fail")), "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert post.text.startswith("🔴")
    assert [each.broadcast for each in workspace.thread(DATA, post.ts)] == [True]


async def test_a_reminder_calls_the_channel_from_the_thread_with_the_newest_state(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident()
    await start(**bot, repeat_interval_seconds=1)
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")
    await record(connection, changed(opened, title="nothing comes at all"))

    def reminders() -> list[Posted]:
        newest = "nothing comes at all (still open)"
        return [each for each in workspace.messages[DATA] if each.broadcast and newest in each.text]

    await workspace.until(lambda: len(reminders()) > 0)

    (post,) = workspace.posts(DATA)
    assert {each.thread_ts for each in reminders()} == {post.ts}


async def test_incidents_told_in_one_message_are_both_shown_after_one_has_ended(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    one, two = incident(), incident(kind="failure", title="run failed")
    first, second = await enqueue(connection, one), await enqueue(connection, two)
    await start(**bot)
    await reach(connection, first, "state = 'sent'")
    await reach(connection, second, "state = 'sent'")

    await reach(connection, await enqueue(connection, resolved(one, after(hours=1))), "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert "1 failing, 1 resolved" in post.text
    assert "run failed" in post.text


async def test_what_a_message_has_no_room_for_stands_in_its_thread(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    ids = [await enqueue(connection, incident(title=f"reason {number}")) for number in range(9)]
    await start(**bot)
    for alert_id in ids:
        await reach(connection, alert_id, "state = 'sent'")

    (post,) = workspace.posts(DATA)
    (details,) = workspace.thread(DATA, post.ts)
    assert "reason 8" not in json.dumps(post.blocks)
    assert all(f"reason {number}" in json.dumps(details.blocks) for number in range(9))


async def test_a_message_that_was_deleted_is_posted_anew_with_all_its_incidents(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    one, two = incident(), incident(kind="failure", title="run failed")
    first, second = await enqueue(connection, one), await enqueue(connection, two)
    await start(**bot)
    await reach(connection, first, "state = 'sent'")
    await reach(connection, second, "state = 'sent'")

    workspace.delete(DATA, workspace.posts(DATA)[0].ts)
    await reach(connection, await enqueue(connection, resolved(one, after(hours=1))), "state = 'sent'")
    await reach(connection, await enqueue(connection, resolved(two, after(hours=2))), "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert "2 resolved" in post.text


async def test_a_channel_by_its_name_is_known_by_its_id_after_the_first_answer(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    stop = await start(**{**bot, "slack_channel": "#data"})
    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")
    stop.set()

    workspace.answers["chat.postMessage"].append(RESET)
    await start(**{**bot, "slack_channel": "#data"})
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")

    assert [each.text.split(":")[0] for each in workspace.posts(DATA)] == ["🔴 orders_daily", "🔴 stock"]


async def test_no_request_is_faster_than_the_pace_of_a_channel(
    connection: asyncpg.Connection, bot: Bot, start: Start
) -> None:
    async with FakeWorkspace({DATA: "data"}, per_second=5) as slow:
        opened = incident()
        await enqueue(connection, opened)
        await start(**{**bot, "slack_api_url": slow.url}, messages_per_second=4)
        for number in range(3):
            await reach(connection, await enqueue(connection, incident(pipeline=f"p{number}")), "state = 'sent'")
        await reach(connection, await enqueue(connection, resolved(opened, after(hours=1))), "state = 'sent'")

    assert [each.error for each in slow.calls if each.error] == []


async def test_the_token_is_in_no_log_and_in_no_row(
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    bot: Bot,
    start: Start,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    workspace.answers["chat.postMessage"].extend([Answer(500, "fatal_error"), RESET])
    with structlog.testing.capture_logs() as captured:
        await start(**bot)
        await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    ours = [each for each in caplog.records if not each.name.startswith("aiohttp")]
    rows = await connection.fetch(
        "select o::text, d::text from alert_outbox o join alert_deliveries d using (alert_id)"
    )
    assert any(each.name.startswith("httpcore") for each in ours)
    assert "canary" not in f"{captured} {[tuple(row) for row in rows]}"
    assert "canary" not in " ".join(each.getMessage() for each in ours)
