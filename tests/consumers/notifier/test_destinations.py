"""Alerts that go to several channels, and what they keep when a notifier starts anew."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import asyncpg
import pytest
from pydantic import SecretStr

from slack.fake import Answer, FakeSlack
from slack.incidents import after, changed, enqueue, incident, reach, resolved
from slack.workspace import FakeWorkspace
from watchline.consumers.notifier import NotifierSettings, run
from watchline.schemas.errors import Misconfigured

Start = Callable[..., Awaitable[asyncio.Event]]
DATA, SALES = "C000DATA", "C00SALES"


def routes(*rules: Mapping[str, str]) -> SecretStr:
    return SecretStr(json.dumps(rules))


async def test_a_route_to_a_webhook_takes_what_fits_and_the_default_the_rest(
    connection: asyncpg.Connection, slack: FakeSlack, second_slack: FakeSlack, start: Start
) -> None:
    rule = {"owner": "stock", "webhook_url": second_slack.url, "name": "stock-team"}
    await start(slack_routes=routes(rule))

    await reach(connection, await enqueue(connection, incident(owner="stock", pipeline="stock")), "state = 'sent'")
    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert [each.text.split(":")[0] for each in slack.requests] == ["🔴 orders_daily"]
    assert [each.text.split(":")[0] for each in second_slack.requests] == ["🔴 stock"]
    told = await connection.fetch(
        "select destination, channel from alert_outbox join alert_deliveries using (alert_id)"
    )
    assert {tuple(row) for row in told} == {("slack", "slack"), ("stock-team", "stock-team")}


async def test_a_broken_webhook_of_one_route_does_not_hold_up_another(
    connection: asyncpg.Connection, slack: FakeSlack, second_slack: FakeSlack, start: Start
) -> None:
    second_slack.default = Answer(503, "down")
    rule = {"owner": "stock", "webhook_url": second_slack.url, "name": "stock-team"}
    await start(slack_routes=routes(rule))
    await reach(connection, await enqueue(connection, incident(owner="stock")), "attempts > 0")

    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    assert len(slack.accepted) == 1


async def test_an_incident_that_gets_worse_is_told_where_that_belongs_and_so_is_its_end(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Mapping[str, Any], start: Start
) -> None:
    opened = incident(severity="warn")
    worse = changed(opened, severity="fail")
    await start(**bot, slack_routes=routes({"severity": "fail", "channel": SALES}))

    for each in (opened, worse, resolved(worse, after(hours=1))):
        await reach(connection, await enqueue(connection, each), "state = 'sent'")

    assert [post.text[0] for post in workspace.posts(SALES)] == ["✅"]
    assert [post.text[0] for post in workspace.posts(DATA)] == ["🟠"]


async def test_what_waits_finds_its_place_when_the_routes_have_changed(
    connection: asyncpg.Connection, workspace: FakeWorkspace, bot: Mapping[str, Any], start: Start
) -> None:
    stop = await start(**bot, slack_routes=routes({"owner": "sales", "channel": SALES}), group_wait_seconds=3600)
    alert_id = await enqueue(connection, incident())
    await reach(connection, alert_id, f"destination = '{SALES}' and claimed_by is null and next_attempt_at > now()")
    stop.set()
    await connection.execute("update alert_outbox set next_attempt_at = now()")

    await start(**bot)
    await reach(connection, alert_id, "state = 'sent'")

    assert [len(workspace.posts(channel)) for channel in (DATA, SALES)] == [1, 0]


async def test_a_notifier_that_starts_anew_keeps_the_interval_of_a_group(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    stop = await start(group_interval_seconds=3600)
    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")
    stop.set()

    await start(group_interval_seconds=3600)
    waiting = await enqueue(connection, incident())
    await reach(connection, waiting, "next_attempt_at > now() + interval '50 minutes' and claimed_by is null")

    assert len(slack.requests) == 1


async def test_a_refused_address_of_a_route_stops_the_notifier_and_is_not_shown(settings: NotifierSettings) -> None:
    rule = {"owner": "stock", "webhook_url": "http://127.0.0.1/canary", "name": "stock-team"}
    wrong = settings.model_copy(
        update={"slack_allow_insecure": False, "slack_webhook_url": None, "slack_routes": routes(rule)}
    )

    with pytest.raises(Misconfigured, match="https") as caught:
        await run(wrong, asyncio.Event())

    assert "canary" not in str(caught.value)
