"""What a bot does when Slack refuses its channel, its token, its message, or its pace."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest
import structlog
from pydantic import SecretStr

from slack.fake import Answer, FakeSlack
from slack.incidents import enqueue, incident, reach
from slack.workspace import FakeWorkspace

Start = Callable[..., Awaitable[asyncio.Event]]
Bot = Mapping[str, Any]
DATA, SALES = "C000DATA", "C00SALES"


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
