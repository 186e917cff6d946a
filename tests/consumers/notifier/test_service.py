"""From the outbox to Slack, on a real Postgres and real HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import pytest
import structlog
from pydantic import SecretStr

from slack.fake import HANG, Answer, FakeSlack
from slack.incidents import after, enqueue, incident, reach, resolved
from watchline.consumers.notifier import NotifierSettings, run
from watchline.consumers.sink.incidents import store_incidents
from watchline.schemas.errors import Misconfigured, Unavailable

Start = Callable[..., Awaitable[asyncio.Event]]

NOTIFIER = """
import asyncio
from watchline.consumers.notifier import NotifierSettings, run
asyncio.run(run(NotifierSettings.from_environment(), asyncio.Event()))
"""


async def test_an_alert_in_the_outbox_reaches_slack_and_is_marked(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await start()

    alert_id = await enqueue(connection, incident())
    row = await reach(connection, alert_id, "state = 'sent'")

    assert [each.text.splitlines()[0] for each in slack.requests] == [
        "🔴 orders_daily: inserts below the expected range"
    ]
    assert (row["attempts"], row["claimed_by"], row["lease_until"], row["last_error"]) == (1, None, None, None)
    delivery = await connection.fetchrow("select channel, outcome, http_status from alert_deliveries")
    assert tuple(delivery or ()) == ("slack", "accepted", 200)


async def test_two_notifiers_send_each_alert_once(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    names = {f"p{number}" for number in range(40)}
    for name in names:
        await enqueue(connection, incident(pipeline=name))

    await start(digest_above=1000)
    await start(digest_above=1000)
    await slack.wait_for(40)
    await _none_left(connection)

    told = [each.text.split(":")[0].removeprefix("🔴 ") for each in slack.requests]
    assert sorted(told) == sorted(names)
    assert await connection.fetchval("select count(*) from alert_deliveries") == 40


async def test_a_group_in_flight_is_left_to_its_notifier(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    opened = incident()
    await enqueue(connection, opened)
    slack.answers.append(HANG)
    await start(request_timeout_seconds=3.0)
    await slack.wait_for(1)

    end = await enqueue(connection, resolved(opened, after(hours=1)))
    await start()
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")

    assert ["orders_daily" in each.text for each in slack.requests] == [True, False, False]
    assert await connection.fetchval("select claimed_by is null from alert_outbox where alert_id = $1", end)


async def test_a_notifier_killed_after_the_request_loses_no_alert(
    connection: asyncpg.Connection, slack: FakeSlack, settings: NotifierSettings, start: Start
) -> None:
    alert_id = await enqueue(connection, incident())
    slack.answers.append(HANG)
    environment = {
        **os.environ,
        "WATCHLINE_POSTGRES_DSN": settings.postgres_dsn.get_secret_value(),
        "WATCHLINE_SLACK_WEBHOOK_URL": slack.url,
        "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
        "WATCHLINE_GROUP_WAIT_SECONDS": "0",
        "WATCHLINE_LEASE_SECONDS": "2",
        "WATCHLINE_REQUEST_TIMEOUT_SECONDS": "1.9",
    }

    doomed = await asyncio.create_subprocess_exec(sys.executable, "-c", NOTIFIER, env=environment)
    try:
        await slack.wait_for(1, seconds=60)
    finally:
        doomed.kill()
        await doomed.wait()
    left = await connection.fetchrow("select state, claimed_by is not null from alert_outbox")
    await start()
    await reach(connection, alert_id, "state = 'sent'")

    assert tuple(left or ()) == ("pending", True)
    first, second = (each.text for each in slack.requests)
    assert second == f"{first}\nperhaps a repetition: it is not known whether Slack has taken this before"


async def test_stop_finishes_the_message_in_flight_and_gives_the_rest_back(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    slack.answers.append(HANG)
    first = await enqueue(connection, incident())
    second = await enqueue(connection, incident(pipeline="stock"))
    stop = await start(request_timeout_seconds=1.0)

    await slack.wait_for(1)
    stop.set()
    await reach(connection, first, "attempts = 1 and claimed_by is null")
    await reach(connection, second, "attempts = 0 and claimed_by is null")

    assert len(slack.requests) == 1


async def test_an_incident_that_ends_within_the_wait_is_one_message(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    opened = incident()
    first = await enqueue(connection, opened)
    await start(group_wait_seconds=1)

    second = await enqueue(connection, resolved(opened, after(minutes=3)))
    await reach(connection, first, "state = 'sent'")
    await reach(connection, second, "state = 'sent'")

    assert len(slack.requests) == 1
    assert "was open for 3 min" in slack.requests[0].text


async def test_a_second_message_of_a_group_waits_and_another_group_does_not(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await start(group_interval_seconds=3600)
    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    waiting = await enqueue(connection, incident())
    row = await reach(connection, waiting, "next_attempt_at > now() + interval '50 minutes'")
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")

    assert (row["state"], row["claimed_by"]) == ("pending", None)
    assert len(slack.requests) == 2


async def test_an_open_incident_is_repeated_until_it_is_resolved(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    opened = incident()
    await enqueue(connection, opened)
    await start(repeat_interval_seconds=0.2)

    await slack.wait_for(3)
    end = await enqueue(connection, resolved(opened, after(hours=1)))
    await reach(connection, end, "state = 'sent'")
    told = len(slack.requests)
    await reach(connection, await enqueue(connection, incident(pipeline="stock")), "state = 'sent'")

    assert "(still open)" in slack.requests[1].text
    assert "(resolved after 1 h)" in slack.requests[told - 1].text
    assert not any("orders" in each.text for each in slack.requests[told:])
    reminders = "select count(*) from alert_outbox where pipeline = 'orders_daily' and next_attempt_at < 'infinity'"
    assert await connection.fetchval(reminders) == 0


async def test_the_end_of_a_suppressed_incident_is_suppressed_too(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    opened = incident()
    await enqueue(connection, opened, state="suppressed", suppressed_reason="too old")
    await start()

    end = await enqueue(connection, resolved(opened, after(hours=1)))
    row = await reach(connection, end, "state = 'suppressed'")

    assert row["suppressed_reason"] == "ended before anybody heard of it"
    assert slack.requests == []


async def test_retry_after_is_obeyed_and_the_alert_is_not_lost(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    slack.answers.append(Answer(429, "rate_limited", {"Retry-After": "2"}))
    first = await enqueue(connection, incident())
    await start()

    await slack.wait_for(1)
    other = await enqueue(connection, incident(pipeline="stock"))
    await reach(connection, first, "state = 'sent'")
    await reach(connection, other, "state = 'sent'")

    parked_until = slack.requests[0].at + 2
    assert all(each.at >= parked_until - 0.05 for each in slack.requests[1:])


async def test_a_server_in_trouble_is_tried_again_until_it_accepts(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    slack.answers.extend([Answer(503, "down"), Answer(500, "rollup_error")])
    alert_id = await enqueue(connection, incident())
    await start()

    row = await reach(connection, alert_id, "state = 'sent'")

    assert row["attempts"] == 3
    outcomes = await connection.fetch("select outcome, http_status from alert_deliveries order by delivery_id")
    assert [tuple(each) for each in outcomes] == [("retry", 503), ("retry", 500), ("accepted", 200)]


async def test_an_alert_is_given_up_after_a_day_of_trouble_and_over_the_fallback_if_there_is_one(
    connection: asyncpg.Connection, slack: FakeSlack, second_slack: FakeSlack, start: Start
) -> None:
    slack.default = Answer(503, "down")
    created = "created_at - interval '25 hours'"
    old = await enqueue(connection, incident())
    await connection.execute(f"update alert_outbox set created_at = {created} where alert_id = $1", old)
    young = await enqueue(connection, incident(pipeline="stock"))
    stop = await start()

    failed = await reach(connection, old, "state = 'failed'")
    kept = await reach(connection, young, "attempts > 0")
    stop.set()
    again = await enqueue(connection, incident(pipeline="again"))
    await connection.execute(f"update alert_outbox set created_at = {created} where alert_id = $1", again)
    await start(slack_fallback_webhook_url=SecretStr(second_slack.url))
    await reach(connection, again, "state = 'sent'")

    assert failed["last_error"] == "503 down"
    assert kept["state"] == "pending"
    assert "again" in second_slack.accepted[0].text


@pytest.mark.parametrize(
    "answer", [Answer(404, "no_service"), Answer(410, "channel_is_archived"), Answer(200, "not ok")]
)
async def test_a_broken_channel_is_left_for_the_fallback(
    answer: Answer, connection: asyncpg.Connection, slack: FakeSlack, second_slack: FakeSlack, start: Start
) -> None:
    slack.default = answer
    await start(slack_fallback_webhook_url=SecretStr(second_slack.url))

    first = await enqueue(connection, incident())
    await reach(connection, first, "state = 'sent'")
    second = await enqueue(connection, incident(pipeline="stock"))
    await reach(connection, second, "state = 'sent'")

    assert (len(slack.requests), len(second_slack.accepted)) == (1, 2)
    told = await connection.fetch("select channel, outcome from alert_deliveries order by delivery_id")
    assert [tuple(each) for each in told] == [
        ("slack", "rejected"),
        ("slack-fallback", "accepted"),
        ("slack-fallback", "accepted"),
    ]


async def test_without_a_fallback_a_broken_channel_fails_the_alert_and_keeps_the_others_waiting(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    slack.default = Answer(404, "no_service")
    failed = await enqueue(connection, incident())
    await start()

    row = await reach(connection, failed, "state = 'failed'")
    waiting = await enqueue(connection, incident(pipeline="stock"))
    kept = await reach(connection, waiting, "state = 'pending'")

    assert row["last_error"] == "404 no_service"
    assert (kept["claimed_by"], len(slack.requests)) == (None, 1)


async def test_an_alert_whose_details_cannot_be_read_is_told_from_its_columns(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await start()

    alert_id = await enqueue(connection, incident(), payload=json.dumps({"pipeline": 7}))
    await reach(connection, alert_id, "state = 'sent'")

    assert "orders_daily: anomaly incident, its details can't be read" in slack.requests[0].text


async def test_a_storm_is_told_in_one_message(connection: asyncpg.Connection, slack: FakeSlack, start: Start) -> None:
    for number in range(100):
        await enqueue(connection, incident(pipeline=f"p{number}"))

    await start()
    await _none_left(connection)

    assert len(slack.requests) == 1
    assert "Storm: 100 new incidents" in slack.requests[0].text


async def test_postgres_going_away_for_a_moment_loses_nothing(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await start()
    await reach(connection, await enqueue(connection, incident()), "state = 'sent'")

    ended = await connection.fetch(
        "select pg_terminate_backend(pid) from pg_stat_activity "
        "where application_name = 'watchline-notifier' and datname = current_database()"
    )
    alert_id = await enqueue(connection, incident(pipeline="stock"))
    await reach(connection, alert_id, "state = 'sent'")

    assert ended
    assert len(slack.requests) == 2


async def test_a_database_without_tables_stops_the_notifier_with_a_hint(
    empty_database: str, settings: NotifierSettings
) -> None:
    bare = settings.model_copy(update={"postgres_dsn": SecretStr(empty_database)})

    with pytest.raises(Misconfigured) as caught:
        await run(bare, asyncio.Event())

    assert caught.value.hint == "run watchline migrate"


async def test_a_wrong_database_address_fails_at_once_and_shows_no_password(settings: NotifierSettings) -> None:
    wrong = settings.model_copy(update={"postgres_dsn": SecretStr("postgresql://me:canary@127.0.0.1:1/x")})

    with pytest.raises(Unavailable) as caught:
        await run(wrong, asyncio.Event())

    assert "canary" not in str(caught.value)


async def test_an_address_that_is_not_slack_s_stops_the_notifier_before_it_claims(
    connection: asyncpg.Connection, slack: FakeSlack, settings: NotifierSettings
) -> None:
    await enqueue(connection, incident())

    with pytest.raises(Misconfigured, match="https") as caught:
        await run(settings.model_copy(update={"slack_allow_insecure": False}), asyncio.Event())

    assert "canary" not in str(caught.value)
    assert slack.requests == []


async def test_without_a_webhook_alerts_are_printed(
    connection: asyncpg.Connection, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    await start(slack_webhook_url=None)

    alert_id = await enqueue(connection, incident())
    await reach(connection, alert_id, "state = 'sent'")

    assert "FAIL orders_daily: inserts below the expected range" in capsys.readouterr().out


async def test_no_secret_and_no_hostile_name_gets_into_the_log(
    connection: asyncpg.Connection,
    slack: FakeSlack,
    second_slack: FakeSlack,
    start: Start,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    slack.answers.extend([Answer(), Answer(500, "no"), Answer(404, "no_service")])
    hostile = incident(pipeline="x\nevent='message.sent' forged=1\x1b[2J")
    with structlog.testing.capture_logs() as captured:
        await start(slack_fallback_webhook_url=SecretStr(second_slack.url))
        for each in (hostile, incident(), incident(pipeline="stock")):
            await reach(connection, await enqueue(connection, each), "state = 'sent'")

    events = {entry["event"] for entry in captured}
    assert {"notifier.started", "message.sent", "message.deferred", "channel.parked", "channel.broken"} <= events
    assert "canary" not in f"{captured}"
    assert "\x1b" not in "".join(str(value) for entry in captured for value in entry.values())
    ours = [each for each in caplog.records if not each.name.startswith("aiohttp")]  # the fake's own access log
    assert "canary" not in " ".join(each.getMessage() for each in ours)


async def _none_left(connection: asyncpg.Connection) -> None:
    async with asyncio.timeout(30):
        while await connection.fetchval("select count(*) from alert_outbox where state = 'pending'"):
            await asyncio.sleep(0.02)


@pytest.mark.parametrize(
    "care", ["acknowledged_at = now()", "snoozed_until = now() + interval '1 hour'"], ids=["acknowledged", "snoozed"]
)
async def test_nobody_is_reminded_of_what_somebody_takes_care_of_but_its_end_is_told(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start, care: str
) -> None:
    watched, cared_for = incident(pipeline="watched"), incident(pipeline="cared_for")
    await store_incidents(connection, [watched, cared_for], now=watched.at, alert_max_age=timedelta(days=1))
    await connection.execute(f"update incidents set {care} where pipeline = 'cared_for'")

    await start(repeat_interval_seconds=0.2)
    reminded = [one for one in await texts(slack, 6) if "(still open)" in one]
    await enqueue(connection, resolved(cared_for, after(hours=1)))
    await reach(connection, 3, "state = 'sent'")

    assert reminded
    assert all(one.startswith("🔴 watched:") for one in reminded)
    assert any("cared_for: inserts below the expected range (resolved after 1 h)" in one.text for one in slack.requests)


async def texts(slack: FakeSlack, count: int) -> list[str]:
    """The first lines of so many messages."""
    await slack.wait_for(count)
    return [each.text.splitlines()[0] for each in slack.requests]
