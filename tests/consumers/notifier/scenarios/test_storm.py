"""Scenario 18: hundreds of incidents within a minute for one channel, which asks to be left alone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from itertools import pairwise
from typing import Any

import asyncpg
from pydantic import SecretStr

from sinking.services import until
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


async def test_a_storm_is_one_message_that_follows_it_to_its_end_while_another_channel_goes_on(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Mapping[str, Any], start: Start
) -> None:
    storm = many(300)
    workspace.answers["chat.postMessage"].extend([Answer(429, "ratelimited", {"Retry-After": "1"})] * 1000)
    await store(connection, *storm[:200])
    await start(**bot, slack_routes=ROUTES, digest_window_seconds=1)
    await workspace.until(lambda: len(workspace.calls) == 2)
    await store(connection, *storm[200:], *(resolved(each, after(minutes=5)) for each in storm[:50]))

    # Somebody else's channel is not asked to wait.
    workspace.answers["chat.postMessage"].clear()
    workspace.errors[DATA] = "ratelimited"
    await store(connection, incident(pipeline="stock", owner="stock"))
    await workspace.until(lambda: len(workspace.posts(SALES)) == 1)
    parked = len(workspace.posts(DATA))
    del workspace.errors[DATA]
    await until(connection, WAITING, 0)
    await until(connection, OPEN, 0)
    await workspace.until(lambda: "Storm over" in workspace.posts(DATA)[0].text)
    await store(connection, *(resolved(each, after(minutes=9)) for each in storm[50:290]))
    await until(connection, WAITING, 0)
    await store(connection, incident(pipeline="calm again"))
    await until(connection, WAITING, 0)

    first, second = workspace.called("chat.postMessage")[:2]
    digest, single = workspace.posts(DATA)
    assert second.at - first.at >= 1
    assert parked == 0
    assert "Storm: 300 new incidents" in digest.earlier[0]
    assert "250 open: 250 anomaly (fail)\n50 resolved meanwhile" in digest.earlier[0]
    assert "p0:" not in digest.earlier[0]
    assert "10 open: 10 anomaly (fail)\n290 resolved meanwhile" in digest.text
    assert single.text.startswith("🔴 calm again")
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

    *digests, last = slack.requests
    assert all(later.at - earlier.at >= 3 for earlier, later in pairwise(digests))
    assert "Storm: 60 new incidents" in digests[0].text
    assert "Storm over" in digests[1].text
    assert "none is open any more" in digests[-1].text
    assert "calm again" in last.text


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
