"""Scenario 17: the notifier is killed after Slack has accepted a message and before it is marked."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest

from slack.fake import FakeSlack
from slack.incidents import after, enqueue, incident, reach, resolved
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier import NotifierSettings

Start = Callable[..., Awaitable[asyncio.Event]]
DATA = "C000DATA"
COUNTED = "select count(*) from alert_deliveries where detail = $1"
NOTIFIER = """
import asyncio
from watchline.consumers.notifier import NotifierSettings, run
asyncio.run(run(NotifierSettings.from_environment(), asyncio.Event()))
"""
QUICK = {
    "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
    "WATCHLINE_GROUP_WAIT_SECONDS": "0",
    "WATCHLINE_GROUP_INTERVAL_SECONDS": "0",
    "WATCHLINE_MESSAGES_PER_SECOND": "1000",
    "WATCHLINE_LEASE_SECONDS": "1",
    "WATCHLINE_REQUEST_TIMEOUT_SECONDS": "0.9",
    "WATCHLINE_POLL_SECONDS": "0.02",
}


def over_the_bot(workspace: FakeWorkspace) -> dict[str, str]:
    """What makes a notifier post to #data."""
    return {
        "WATCHLINE_SLACK_BOT_TOKEN": workspace.token,
        "WATCHLINE_SLACK_API_URL": workspace.url,
        "WATCHLINE_SLACK_CHANNEL": DATA,
    }


async def die(settings: NotifierSettings, failpoint: str, more: Mapping[str, str]) -> None:
    """Run a notifier until it has killed itself."""
    dsn = {"WATCHLINE_POSTGRES_DSN": settings.postgres_dsn.get_secret_value()}
    environment = {**os.environ, **QUICK, **dsn, **more, "WATCHLINE_FAILPOINT": f"{failpoint}:kill:1"}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", NOTIFIER, env=environment)
    async with asyncio.timeout(60):
        assert await process.wait() == -signal.SIGKILL


@pytest.mark.parametrize("failpoint", ["N2", "N3"])
async def test_with_a_bot_the_message_is_recognised_and_not_posted_again(
    failpoint: str,
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    settings: NotifierSettings,
    bot: Mapping[str, Any],
    start: Start,
) -> None:
    opened = incident()
    alert_id = await enqueue(connection, opened)

    await die(settings, failpoint, over_the_bot(workspace))
    left = await connection.fetchrow("select state, unanswered, in_doubt_since is not null from alert_outbox")
    await start(**bot)
    await reach(connection, alert_id, "state = 'sent'")
    await reach(connection, await enqueue(connection, resolved(opened, after(hours=1))), "state = 'sent'")

    (post,) = workspace.posts(DATA)
    assert tuple(left or ()) == ("pending", 1, True)
    assert await connection.fetchval(COUNTED, "recognised") == 1
    assert post.text.startswith("✅")
    assert post.metadata is not None
    assert post.metadata["event_payload"]["incident_id"] == str(opened.incident_id)


@pytest.mark.faults
async def test_with_a_bot_the_message_is_recognised_however_often_a_notifier_dies(
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    settings: NotifierSettings,
    bot: Mapping[str, Any],
    start: Start,
) -> None:
    alert_id = await enqueue(connection, incident())

    for _ in range(3):
        await die(settings, "N3", over_the_bot(workspace))
    await start(**bot)
    await reach(connection, alert_id, "state = 'sent'")

    assert len(workspace.posts(DATA)) == 1


async def test_over_a_webhook_it_is_repeated_once_and_says_so(
    connection: asyncpg.Connection, slack: FakeSlack, settings: NotifierSettings, start: Start
) -> None:
    alert_id = await enqueue(connection, incident())

    await die(settings, "N3", {"WATCHLINE_SLACK_WEBHOOK_URL": slack.url})
    await start()
    await reach(connection, alert_id, "state = 'sent'")

    assert ["perhaps a repetition" in each.text for each in slack.requests] == [False, True]
    assert await connection.fetchval(COUNTED, "repeated") == 1


async def test_over_a_webhook_it_is_not_sent_a_third_time_and_a_reminder_has_to_do(
    connection: asyncpg.Connection, slack: FakeSlack, settings: NotifierSettings, start: Start
) -> None:
    alert_id = await enqueue(connection, incident())

    for _ in range(2):
        await die(settings, "N3", {"WATCHLINE_SLACK_WEBHOOK_URL": slack.url})
    await start()
    row = await reach(connection, alert_id, "state = 'failed'")

    assert len(slack.requests) == 2
    assert row["last_error"] == "sent twice without our seeing an answer"
    assert await connection.fetchval("select next_attempt_at > now() + interval '3 hours' from alert_outbox")
