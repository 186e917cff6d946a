"""Scenario 14: Kafka is down for 20 min while 60 jobs are due, then everything comes in at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from ingesting.pulses import absent, arrive, ended, reach_row, sink, states
from slack.fake import FakeSlack
from watchline.consumers.watch.health import Health, Patience, Reading, causes_of, judge

Start = Callable[..., Awaitable[asyncio.Event]]
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
JOBS = [f"job-{number}" for number in range(60)]
HELD = "(select count(*) = 60 from alert_outbox where state = 'held')"
SETTLED = "(select count(*) = 0 from alert_outbox where state in ('held', 'pending'))"


def test_it_is_ill_once_from_the_last_pulse_on_until_they_have_come_for_the_settle_time() -> None:
    verdicts, health = [], Health()
    for second in range(0, 2400, 15):
        now = NOON + timedelta(seconds=second)
        newest = now if second < 300 or second >= 1500 else NOON + timedelta(seconds=285)
        readings = [Reading(number, newest - timedelta(seconds=1), newest) for number in range(4)]
        health = judge(health, causes_of(readings, {}, now, Patience()), now, Patience())
        verdicts.append((second, health.ill, health.since))

    ill = [second for second, is_ill, _ in verdicts if is_ill]
    assert ill == list(range(450, 1620, 15))
    assert {since for _, is_ill, since in verdicts if is_ill} == {NOON + timedelta(seconds=285)}
    assert verdicts[-1] == (2385, False, NOON + timedelta(seconds=1500))


@pytest.mark.faults
async def test_none_of_sixty_alerts_is_false_and_one_incident_says_what_happened(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await arrive(connection, ago=1200)
    await start()
    await slack.wait_for(1)
    await sink(connection, *map(absent, JOBS), absent("broken", "failure"))
    await slack.wait_for(2)
    await reach_row(connection, HELD)
    await sink(connection, *(ended(absent(name)) for name in JOBS[:57]))

    await arrive(connection)
    await reach_row(connection, SETTLED)

    heard = "\n".join(request.text for request in slack.requests)
    assert [name for name in JOBS if f"{name}:" in heard] == JOBS[57:]
    assert heard.count("watchline: nothing arrives") == heard.count("watchline: ingestion gap 20 min") == 1
    assert "broken: failure" in heard
    found = await states(connection)
    over = [name for name in JOBS if found[name, "opened"] == ("suppressed", "ended_while_unknown")]
    assert over == JOBS[:57]
    assert await connection.fetchval("select count(*) from incidents where kind = 'ingestion'") == 1
