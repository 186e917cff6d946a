"""The one incident of an ill ingestion, in Postgres and in Slack, whatever else is dead."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import asyncpg

from ingesting.pulses import arrive, reach_row, wait_for_pulses
from security.logins import login
from sinking import records
from slack.fake import FakeSlack
from watchline.consumers.roles import NOTIFIER
from watchline.consumers.sink.incidents import store_incidents
from watchline.consumers.watch.health import Health
from watchline.consumers.watch.incident import FINGERPRINT
from watchline.consumers.watch.observation import observe
from watchline.consumers.watch.service import EVER, look
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.vitals import Vitals

Start = Callable[..., Awaitable[asyncio.Event]]
AT_ONCE = WatchSettings(ingestion_ill_seconds=0, ingestion_settle_seconds=0)
OPEN = "exists (select from incidents where kind = 'ingestion' and status = 'open')"


async def test_an_outage_is_told_once_by_several_notifiers_and_so_is_its_end(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await arrive(connection, ago=1200)
    for _ in range(3):
        await start()

    await slack.wait_for(1)
    await arrive(connection)
    await reach_row(connection, "exists (select from alert_outbox where transition = 'resolved' and state = 'sent')")

    first, last = [request.text for request in slack.requests]
    assert first.startswith("🔴 watchline: nothing arrives from all 4 partitions since ")
    assert last.startswith("✅ watchline: ingestion gap 20 min (resolved after 20 min")
    assert await connection.fetchval("select count(*) from incidents") == 1
    row = await connection.fetchrow("select resolved_at - opened_at as gap, resolve_reason, revision from incidents")
    assert row is not None
    assert (round(row["gap"].total_seconds() / 60), row["resolve_reason"], row["revision"]) == (20, "recovered", 0)


async def test_looks_of_two_notifiers_at_the_same_moment_open_one_incident(database: str) -> None:
    connections = [await asyncpg.connect(database) for _ in range(4)]
    await arrive(connections[0], ago=1200)

    await asyncio.gather(*(look(each, Health(), AT_ONCE, Vitals()) for each in connections))

    assert await connections[0].fetchval("select count(*) from incidents") == 1
    assert await connections[0].fetchval("select count(*) from alert_outbox") == 1
    for each in connections:
        await each.close()


async def test_a_notifier_that_starts_in_the_middle_waits_for_the_settle_time_and_ends_the_incident_then(
    connection: asyncpg.Connection,
) -> None:
    await arrive(connection, ago=1200)
    await look(connection, Health(), AT_ONCE, Vitals())
    await arrive(connection)

    health = await look(connection, Health(), WatchSettings(), Vitals())
    waiting = await connection.fetchval("select status from incidents")
    health = await look(connection, health, AT_ONCE, Vitals())

    assert (waiting, health.ill) == ("open", False)
    assert await connection.fetchval("select status from incidents") == "resolved"


async def test_what_gets_worse_is_told_again_and_what_only_grows_is_not(connection: asyncpg.Connection) -> None:
    settings = AT_ONCE.model_copy(update={"ingestion_silent_seconds": 600.0})
    await arrive(connection)
    await arrive(connection, [3], delay=2400)
    health = await look(connection, Health(), settings, Vitals())
    await connection.execute(
        "update incident_events set record = jsonb_set(record, '{at}', to_jsonb(now() - interval '2 minutes'))"
    )
    await arrive(connection, [3], delay=3000)
    health = await look(connection, health, settings, Vitals())
    await arrive(connection, [0], ago=700)
    await look(connection, health, settings, Vitals())

    told = await connection.fetch("select transition, severity from alert_outbox order by transition_no")
    assert [tuple(row) for row in told] == [("opened", "warn"), ("updated", "fail")]


async def test_only_the_partitions_of_the_newest_log_are_expected_and_its_silence_began_in_the_old_one(
    connection: asyncpg.Connection,
) -> None:
    await arrive(connection, range(8), ago=600)
    await wait_for_pulses(connection, range(4), epoch=1)

    seen = await observe(connection)

    assert [one.partition for one in seen.readings] == [0, 1, 2, 3]
    assert {round((seen.now - one.stored_at).total_seconds() / 60) for one in seen.readings} == {10}


async def test_once_a_pulse_has_come_through_the_newest_log_the_old_one_counts_no_more(
    connection: asyncpg.Connection,
) -> None:
    await arrive(connection, ago=600)
    await arrive(connection, epoch=1)

    seen = await observe(connection)

    assert all(seen.now - one.stored_at < timedelta(minutes=1) for one in seen.readings)


async def test_a_partition_whose_first_pulse_is_awaited_counts_from_when_the_sink_took_it(
    connection: asyncpg.Connection,
) -> None:
    await arrive(connection, [0, 1])
    await wait_for_pulses(connection, [2], since=300)

    seen = await observe(connection)

    assert [one.pulse_at is None for one in seen.readings] == [False, False, True]
    assert round((seen.now - seen.readings[2].stored_at).total_seconds()) == 300


async def test_a_new_installation_is_not_ill(connection: asyncpg.Connection) -> None:
    await wait_for_pulses(connection, since=86_400)

    health = await look(connection, Health(), AT_ONCE, Vitals())

    assert health == Health()


async def test_the_hours_of_four_weeks_and_one_before_are_looked_at(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "insert into ingestion_hours select date_trunc('hour', now()) - n * interval '1 week', n + 1 "
        "from generate_series(0, 9) as n"
    )

    seen = await observe(connection)

    assert sorted(seen.hours.values()) == [1, 2, 3, 4, 5, 6]


async def test_a_pipeline_that_is_called_watchline_keeps_its_incidents(connection: asyncpg.Connection) -> None:
    await arrive(connection, ago=1200)
    await look(connection, Health(), AT_ONCE, Vitals())

    record = records.incident(pipeline="watchline", kind="failure", fingerprint="another")
    async with connection.transaction():
        await store_incidents(connection, [record], now=records.after(hours=1), alert_max_age=EVER)

    assert await connection.fetchval("select count(*) from incidents where status = 'open'") == 2
    assert await connection.fetchval("select status from incidents where fingerprint = $1", FINGERPRINT) == "open"


async def test_a_notifier_that_may_not_look_goes_on_alerting(
    connection: asyncpg.Connection, slack: FakeSlack, start: Start
) -> None:
    await connection.execute("alter table ingestion_hours rename to away")
    await start()

    await store_incidents(connection, [records.incident()], now=records.after(hours=1), alert_max_age=EVER)

    await slack.wait_for(1)


async def test_the_role_of_the_notifier_is_enough(database: str, connection: asyncpg.Connection) -> None:
    await arrive(connection, ago=1200)
    async with login(database, NOTIFIER) as dsn:
        notifier = await asyncpg.connect(dsn)
        health = await look(notifier, Health(), AT_ONCE, Vitals())
        await arrive(connection)
        health = await look(notifier, health, AT_ONCE, Vitals())
        await notifier.close()

    assert not health.ill
    assert await connection.fetchval("select count(*) from alert_outbox") == 2
