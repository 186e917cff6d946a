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
from pydantic import SecretStr

from slack.fake import HANG, RESET, Answer, FakeSlack
from slack.incidents import after, changed, enqueue, incident, reach, record, resolved
from slack.workspace import FakeWorkspace, Posted

Start = Callable[..., Awaitable[asyncio.Event]]
Bot = Mapping[str, Any]
DATA, SALES = "C000DATA", "C00SALES"


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


@pytest.mark.parametrize("lost", [HANG, RESET])
async def test_a_post_whose_answer_got_lost_is_recognised_and_not_repeated(
    lost: Answer, connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(lost)
    await start(**bot, request_timeout_seconds=1)

    row = await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert len(workspace.posts(DATA)) == 1
    assert (row["in_doubt_since"], row["unanswered"]) == (None, 0)
    assert len(workspace.called("conversations.history")) == 1


async def test_a_reply_whose_answer_got_lost_is_recognised_and_not_repeated(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    opened = incident()
    await start(**bot)
    await reach(connection, await enqueue(connection, opened), "state = 'sent'")

    workspace.answers["chat.postMessage"].append(RESET)
    await reach(connection, await enqueue(connection, resolved(opened, after(hours=1))), "state = 'sent'")

    assert [each.is_reply for each in workspace.messages[DATA]] == [False, True]


async def test_a_post_in_doubt_is_looked_for_behind_many_others(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(RESET)
    workspace.answers["conversations.history"].append(Answer(429, "ratelimited", {"Retry-After": "1"}))
    opened = await enqueue(connection, incident())
    await start(**bot)
    await workspace.until(lambda: len(workspace.called("conversations.history")) == 1)
    for number in range(250):  # others talk in the channel meanwhile
        await _say(workspace, f"chatter {number}")

    await reach(connection, opened, "state = 'sent'")

    assert sum("orders_daily" in each.text for each in workspace.posts(DATA)) == 1
    assert len(workspace.called("conversations.history")) == 4


async def test_without_the_right_to_read_a_post_in_doubt_is_repeated_once_and_says_so(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.unreadable.add(DATA)
    workspace.answers["chat.postMessage"].append(RESET)
    await start(**bot)

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    first, second = workspace.posts(DATA)
    assert ["perhaps a repetition" in each.text for each in (first, second)] == [False, True]


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


@pytest.mark.parametrize("error", ["channel_not_found", "not_in_channel", "is_archived"])
async def test_a_channel_that_the_bot_may_not_use_is_left_for_the_fallback(
    error: str, connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.errors[DATA] = error
    await start(**bot, slack_fallback_channel=SALES)

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert len(workspace.posts(SALES)) == 1
    told = await connection.fetch("select channel, outcome, detail from alert_deliveries order by delivery_id")
    assert [tuple(each) for each in told] == [(DATA, "rejected", error), (SALES, "accepted", None)]


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked"])
async def test_with_a_refused_token_nothing_is_sent_and_nothing_is_lost(
    error: str, connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.token_error = error
    routes = SecretStr(json.dumps([{"owner": "stock", "channel": SALES}]))
    first = await enqueue(connection, incident())
    second = await enqueue(connection, incident(owner="stock"))
    with structlog.testing.capture_logs() as logs:
        stop = await start(**bot, slack_routes=routes)
        await reach(connection, first, "attempts = 1 and claimed_by is null")
        await reach(connection, second, "attempts = 1 and claimed_by is null")
        stop.set()

    states = await connection.fetch("select state, last_error from alert_outbox order by alert_id")
    loud = [each for each in logs if each["event"] == "slack.token_refused"]
    assert len(workspace.calls) == 1
    assert {row["state"] for row in states} == {"pending"}
    assert [(each["log_level"], each["error"]) for each in loud] == [("error", error)]


async def test_with_a_refused_token_the_fallback_webhook_takes_over(
    connection: asyncpg.Connection, workspace: FakeWorkspace, slack: FakeSlack, bot: Bot, start: Start
) -> None:
    workspace.token_error = "token_revoked"
    await start(**bot, slack_fallback_webhook_url=SecretStr(slack.url))

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert len(slack.accepted) == 1


@pytest.mark.parametrize("error", ["msg_too_long", "invalid_blocks"])
async def test_a_message_that_is_refused_for_its_form_is_posted_without_blocks(
    error: str, connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(Answer(200, error))
    await start(**bot)

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert post.blocks == []
    assert "orders_daily" in post.text


async def test_retry_after_is_obeyed_by_that_channel_and_not_by_another(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Bot, start: Start
) -> None:
    workspace.answers["chat.postMessage"].append(Answer(429, "ratelimited", {"Retry-After": "4"}))
    routes = SecretStr(json.dumps([{"owner": "stock", "channel": SALES}]))
    parked = await enqueue(connection, incident())
    await start(**bot, slack_routes=routes)
    await workspace.until(lambda: len(workspace.calls) == 1)

    await reach(connection, await enqueue(connection, incident(owner="stock")), "state = 'sent'")
    free = len(workspace.posts(DATA))
    await reach(connection, parked, "state = 'sent'")

    first, other, again = workspace.called("chat.postMessage")
    assert (free, other.arguments["channel"]) == (0, SALES)
    assert again.at - first.at >= 4


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


async def _say(workspace: FakeWorkspace, text: str) -> None:
    last = workspace.messages[DATA][-1].ts
    workspace.messages[DATA].append(Posted(ts=f"{float(last) + 0.000001:.6f}", text=text, blocks=[], metadata=None))
