"""The dead man's switch: pings while the whole loop works, silence when any part of it does not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg
import pytest
from pydantic import SecretStr

from ingesting.pulses import Outside, arrive, wait_for_pulses
from slack.fake import Answer, FakeSlack
from slack.incidents import enqueue, incident
from watchline.consumers.notifier.address import addresses_of
from watchline.consumers.notifier.watching import open_switch
from watchline.consumers.watch.health import Health
from watchline.consumers.watch.service import look
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.switch import DeadManSwitch
from watchline.consumers.watch.vitals import Vitals, is_stuck
from watchline.schemas.errors import Misconfigured

Start = Callable[..., Awaitable[asyncio.Event]]
LULL = 1.5  # many times the interval of the pings, and more than it takes to see that something is amiss
STUCK = timedelta(minutes=5)


async def test_pings_go_out_while_pulses_of_every_partition_come(
    connection: asyncpg.Connection, away: Outside, start: Start
) -> None:
    await arrive(connection)
    await start()

    await away.wait_for_more(3)


async def test_pings_stop_with_the_pulses_of_one_partition_and_go_on_with_them(
    connection: asyncpg.Connection, away: Outside, start: Start
) -> None:
    await arrive(connection)
    await start(ingestion_ill_seconds=3600)
    await away.wait_for_more()

    await arrive(connection, [2], ago=91)
    await away.falls_silent(lull=LULL)
    await arrive(connection, [2])

    await away.wait_for_more(2)


async def test_before_the_first_pulse_nothing_is_pinged(
    connection: asyncpg.Connection, away: Outside, start: Start
) -> None:
    await wait_for_pulses(connection)
    await start()

    assert await away.is_quiet_for(LULL)


async def test_pings_stop_when_alerts_can_not_be_sent_and_go_on_when_they_can(
    connection: asyncpg.Connection, away: Outside, slack: FakeSlack, start: Start
) -> None:
    await arrive(connection)
    slack.default = Answer(503, "down")
    await start()
    await away.wait_for_more()

    await enqueue(connection, incident())
    await away.falls_silent(lull=LULL)
    slack.default = Answer()

    await away.wait_for_more(2, seconds=40)


async def test_pings_stop_while_postgres_refuses_the_notifier(
    connection: asyncpg.Connection, away: Outside, start: Start
) -> None:
    await arrive(connection)
    await start()
    await away.wait_for_more()

    async with connection.transaction():
        await connection.execute("lock table ingestion in access exclusive mode")
        await away.falls_silent(lull=LULL)

    await away.wait_for_more(2)


async def test_a_switch_that_nobody_answers_disturbs_no_alert(
    connection: asyncpg.Connection, away: Outside, slack: FakeSlack, start: Start
) -> None:
    await arrive(connection)
    away.status = 500
    await start()
    await away.wait_for_more(2)

    await enqueue(connection, incident())

    await slack.wait_for(1)


@pytest.mark.parametrize(
    ("ingested_at", "passed_at", "works"),
    [(99.0, 99.0, True), (None, 99.0, False), (99.0, None, False), (54.0, 99.0, False), (99.0, -201.0, False)],
)
def test_the_loop_works_when_both_halves_were_seen_to(
    ingested_at: float | None, passed_at: float | None, works: bool
) -> None:
    assert Vitals(ingested_at, passed_at).works(100.0, look=45.0, passage=300.0) == works


@pytest.mark.parametrize(
    ("change", "stuck"),
    [
        ("state = 'pending'", False),
        ("state = 'pending', next_attempt_at = now() - interval '6 minutes'", True),
        (
            "attempts = 3, created_at = now() - interval '6 minutes', next_attempt_at = now() + interval '1 minute'",
            True,
        ),
        ("created_at = now() - interval '6 minutes', next_attempt_at = now() + interval '1 minute'", False),
        ("state = 'held', next_attempt_at = now() - interval '6 minutes'", False),
        ("state = 'failed', next_attempt_at = now() + interval '4 hours'", True),
        ("state = 'failed', next_attempt_at = 'infinity'", False),
        ("state = 'failed', transition = 'resolved', next_attempt_at = now() + interval '4 hours'", False),
    ],
)
async def test_an_alert_is_stuck_when_it_should_have_been_told(
    change: str, stuck: bool, connection: asyncpg.Connection
) -> None:
    await enqueue(connection, incident())
    await connection.execute(f"update alert_outbox set {change}")

    assert await is_stuck(connection, STUCK) == stuck


async def test_a_stuck_alert_is_no_sign_of_life_however_fresh_the_pulses(connection: asyncpg.Connection) -> None:
    await arrive(connection)
    vitals = Vitals()
    await look(connection, Health(), WatchSettings(), vitals)
    before = vitals.ingested_at

    await enqueue(connection, incident())
    await connection.execute("update alert_outbox set next_attempt_at = now() - interval '6 minutes'")
    await look(connection, Health(), WatchSettings(), vitals)

    assert before is not None
    assert vitals.ingested_at is None


async def test_the_address_is_in_no_log(away: Outside, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    switch = DeadManSwitch(SecretStr(away.url))

    heard = await switch.ping()
    away.status = 404
    refused = await switch.ping()
    await switch.close()

    assert (heard, refused, switch.pings, switch.failures) == (True, False, 1, 1)
    assert "canary" not in caplog.text


async def test_an_address_that_may_not_be_connected_to_counts_as_a_failure() -> None:
    def nowhere(_: str) -> list[str]:
        raise Misconfigured("private")

    switch = DeadManSwitch(SecretStr("https://ping.example/x"), locate=nowhere)
    unheard = await switch.ping()
    await switch.close()

    assert (unheard, switch.failures) == (False, 1)


@pytest.mark.parametrize(
    "url", ["https://xn--a.example/canary", "https://a..example/canary", "https://\ud800.example/c"]
)
async def test_a_ping_to_a_host_that_is_no_name_fails_and_ends_nothing(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    switch = DeadManSwitch(SecretStr(url), locate=addresses_of)

    unheard = await switch.ping()
    await switch.close()

    assert (unheard, switch.failures) == (False, 1)
    assert "canary" not in caplog.text


async def test_a_ping_that_fails_in_a_way_that_nobody_foresaw_ends_nothing() -> None:
    def broken(_: str) -> list[str]:
        raise RuntimeError

    switch = DeadManSwitch(SecretStr("https://ping.example/x"), locate=broken)
    unheard = await switch.ping()
    await switch.close()

    assert (unheard, switch.failures) == (False, 1)


@pytest.mark.parametrize(
    "url",
    [
        "http://ping.example/canary", "https://127.0.0.1/canary", "https://[canary", "ftp://ping.example/canary",
        "https://xn--a.example/canary", "https://a..example/canary",
    ],
)  # fmt: skip
def test_the_address_must_be_https_at_a_public_host(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        open_switch(WatchSettings(dead_man_url=SecretStr(url)))

    assert "WATCHLINE_DEAD_MAN_URL" in str(caught.value)
    assert "canary" not in f"{caught.value} {caught.value.hint}"


def test_without_an_address_there_is_no_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHLINE_DEAD_MAN_URL", "")

    assert open_switch(WatchSettings.from_environment()) is None
