"""Scenario 18: hundreds of incidents within a minute for one channel, which asks to be left alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
from pydantic import SecretStr

from slack.fake import Answer, FakeSlack
from slack.incidents import after, enqueue, incident, reach, resolved, store
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier import NotifierSettings, run
from watchline.schemas.records import IncidentRecord

Start = Callable[..., Awaitable[asyncio.Event]]
DATA, SALES = "C000DATA", "C00SALES"
ROUTES = SecretStr(json.dumps([{"owner": "stock", "channel": SALES}]))
WAITING = "select count(*) from alert_outbox where state = 'pending'"
OPEN = "select count(*) from alert_storms where ended_at is null"


def many(count: int, **changes: Any) -> list[IncidentRecord]:
    """New incidents, each of a pipeline of its own."""
    return [incident(pipeline=f"p{number}", **changes) for number in range(count)]


async def until(connection: asyncpg.Connection, count: str, wanted: int) -> None:
    """Wait until a query counts as many as are wanted."""
    async with asyncio.timeout(30):
        while await connection.fetchval(count) != wanted:
            await asyncio.sleep(0.02)


async def test_a_storm_is_one_message_that_follows_it_to_its_end_while_another_channel_goes_on(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Mapping[str, Any], start: Start
) -> None:
    storm = many(300)
    workspace.answers["chat.postMessage"].append(Answer(429, "ratelimited", {"Retry-After": "3"}))
    await store(connection, *storm[:200])
    await start(**bot, slack_routes=ROUTES, digest_window_seconds=3)
    await workspace.until(lambda: len(workspace.calls) == 1)

    await store(connection, *storm[200:], *(resolved(each, after(minutes=5)) for each in storm[:50]))
    aside = await connection.fetchval("select max(alert_id) from alert_outbox")
    await store(connection, incident(pipeline="stock", owner="stock"))
    await reach(connection, aside + 1, "state = 'sent'")
    parked = len(workspace.posts(DATA))
    await until(connection, WAITING, 0)
    (digest,) = workspace.posts(DATA)
    told_in_time = digest.text
    await until(connection, OPEN, 0)
    await workspace.until(lambda: "Storm over" in digest.text)

    await store(connection, *(resolved(each, after(minutes=9)) for each in storm[50:290]))
    await until(connection, WAITING, 0)
    await store(connection, incident(pipeline="calm again"))
    await until(connection, WAITING, 0)

    refused, other, posted = workspace.called("chat.postMessage")[:3]
    assert (parked, other.arguments["channel"], other.error) == (0, SALES, None)
    assert posted.at - refused.at >= 3
    assert "Storm: 300 new incidents" in told_in_time
    assert "250 open: 250 anomaly (fail)\n50 resolved meanwhile" in told_in_time
    assert "p0:" not in told_in_time
    assert "10 open: 10 anomaly (fail)\n290 resolved meanwhile" in digest.text
    assert [each.text.split(":")[0] for each in workspace.posts(DATA)[1:]] == ["🔴 calm again"]
    assert workspace.thread(DATA, digest.ts) == []


async def test_over_a_webhook_a_storm_is_one_message_an_interval(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    storm = many(60)
    await store(connection, *storm)
    await start(digest_window_seconds=1, group_interval_seconds=3)
    await slack.wait_for(1)

    await until(connection, OPEN, 0)
    await store(connection, *(resolved(each, after(minutes=5)) for each in storm))
    await until(connection, WAITING, 0)
    await store(connection, incident(pipeline="calm again"))
    await until(connection, WAITING, 0)

    first, second, third = slack.requests
    assert second.at - first.at >= 3
    assert "Storm: 60 new incidents" in first.text
    assert "Storm over" in second.text
    assert "none is open any more" in second.text
    assert "calm again" in third.text


async def test_two_notifiers_and_a_new_one_tell_a_storm_in_one_message(
    connection: asyncpg.Connection,
    workspace: FakeWorkspace,
    bot: Mapping[str, Any],
    start: Start,
    settings: NotifierSettings,
) -> None:
    storm = many(200)
    first = await start(**bot)
    await start(**bot)
    await store(connection, *storm[:100])
    await until(connection, WAITING, 0)
    first.set()

    stop = asyncio.Event()
    third = asyncio.create_task(run(settings.model_copy(update=dict(bot)), stop))
    await store(connection, *storm[100:])
    await until(connection, WAITING, 0)
    stop.set()
    await third

    assert [each.text.split("\n")[0] for each in workspace.posts(DATA)] == [
        "🔴 Storm: 200 new incidents, told together until it is over"
    ]


async def test_an_incident_that_was_told_by_itself_ends_by_itself_in_a_storm(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Mapping[str, Any], start: Start
) -> None:
    before = incident(pipeline="before")
    await start(**bot)
    await reach(connection, await enqueue(connection, before), "state = 'sent'")

    await store(connection, *many(40))
    await until(connection, WAITING, 0)
    await reach(connection, await enqueue(connection, resolved(before, after(hours=1))), "state = 'sent'")

    single, digest = workspace.posts(DATA)
    assert single.text.startswith("✅ before")
    assert "40 new incidents" in digest.text
