"""Which alerts wait while ingestion is ill, and what becomes of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from aiokafka.partitioner import murmur2

from ingesting.pulses import PARTITIONS, absent, arrive, ended, sink, states
from sinking import records
from watchline.consumers.notifier.grouping import Timing
from watchline.consumers.notifier.triage import Triage
from watchline.consumers.watch.health import Cause, Health
from watchline.consumers.watch.holding import ABSENCE, HELD_AT_MOST, hold_absence
from watchline.consumers.watch.incident import opening, resolving
from watchline.schemas.records import IncidentRecord

HELD = ("held", "ingestion_ill")
WAITING = ("pending", None)
OVER = ("suppressed", "ended_while_unknown")
NOW = records.after(minutes=30)
CAUSES = {number: Cause("silent", records.NOON, number) for number in PARTITIONS}


async def fall_ill(connection: asyncpg.Connection, *partitions: int) -> None:
    """Open the system incident over these partitions, all of them when none is named."""
    await arrive(connection)
    causes = tuple(CAUSES[number] for number in partitions or PARTITIONS)
    health = Health(ill=True, causes=causes, since=records.NOON)
    await sink(connection, opening(health, len(PARTITIONS), NOW, uuid4()))


async def recover(connection: asyncpg.Connection) -> None:
    """End it."""
    record = await connection.fetchval("select record::text from incident_events where record ->> 'kind' = 'ingestion'")
    opened = IncidentRecord.model_validate_json(record)
    await sink(connection, resolving(opened, NOW, NOW))


async def claim(connection: asyncpg.Connection) -> None:
    """What a notifier does before it takes alerts."""
    async with connection.transaction():
        await hold_absence(connection)


@pytest.mark.parametrize("kind", ABSENCE)
async def test_absence_is_held_while_ingestion_is_ill(kind: str, connection: asyncpg.Connection) -> None:
    await fall_ill(connection)
    await sink(connection, absent("a"))
    await connection.execute("update alert_outbox set kind = $1 where pipeline = 'a'", kind)

    await claim(connection)

    assert (await states(connection))["a", "opened"] == HELD


async def test_what_did_happen_goes_on_and_so_does_the_system_incident(connection: asyncpg.Connection) -> None:
    await fall_ill(connection)
    await sink(connection, absent("a", "failure"), absent("b", "anomaly"))

    await claim(connection)

    assert set((await states(connection)).values()) == {WAITING}


async def test_nothing_is_held_while_ingestion_is_well(connection: asyncpg.Connection) -> None:
    await sink(connection, absent("a"))

    await claim(connection)

    assert (await states(connection))["a", "opened"] == WAITING


async def test_what_is_still_absent_afterwards_is_told_and_what_came_meanwhile_is_not(
    connection: asyncpg.Connection,
) -> None:
    await fall_ill(connection)
    await sink(connection, absent("gone"), absent("late"))
    await claim(connection)
    await sink(connection, ended(absent("late")))
    await claim(connection)
    during = await states(connection)

    await recover(connection)
    await claim(connection)

    assert (during["late", "opened"], during["late", "resolved"]) == (HELD, HELD)
    after = await states(connection)
    assert after["gone", "opened"] == WAITING
    assert (after["late", "opened"], after["late", "resolved"]) == (OVER, OVER)


async def test_one_that_opens_and_ends_within_a_moment_is_held_as_a_whole(connection: asyncpg.Connection) -> None:
    await fall_ill(connection)
    await sink(connection, absent("late"))
    await sink(connection, ended(absent("late")))

    await claim(connection)

    found = await states(connection)
    assert (found["late", "opened"], found["late", "resolved"]) == (HELD, HELD)


async def test_the_end_of_what_was_told_before_is_told_at_once(connection: asyncpg.Connection) -> None:
    await sink(connection, absent("a"))
    await connection.execute("update alert_outbox set state = 'sent', sent_at = now(), next_attempt_at = 'infinity'")
    await fall_ill(connection)
    await sink(connection, ended(absent("a")))

    await claim(connection)

    assert (await states(connection))["a", "resolved"] == WAITING


async def test_a_reminder_of_absence_waits_too_and_one_of_a_failure_does_not(connection: asyncpg.Connection) -> None:
    await sink(connection, absent("a"), absent("b", "failure"))
    await connection.execute("update alert_outbox set state = 'sent', sent_at = now(), next_attempt_at = now()")
    await fall_ill(connection)

    await claim(connection)

    due = await connection.fetch("select pipeline from alert_outbox where state = 'sent' and next_attempt_at <= now()")
    assert [row["pipeline"] for row in due] == ["b"]


async def test_only_pipelines_of_the_ill_partitions_are_held(connection: asyncpg.Connection) -> None:
    names = [f"p{number}" for number in range(40)]
    await fall_ill(connection, 2)
    await sink(connection, *map(absent, names))

    await claim(connection)

    found = await states(connection)
    held = {name for name in names if found[name, "opened"] == HELD}
    assert held == {name for name in names if (murmur2(name.encode()) & 0x7FFFFFFF) % 4 == 2}
    assert 0 < len(held) < 40


async def test_nothing_is_held_for_ever(connection: asyncpg.Connection) -> None:
    await fall_ill(connection)
    await sink(connection, absent("a"), absent("b"))
    await claim(connection)
    await connection.execute(
        "update alert_outbox set created_at = now() - $1::interval where pipeline = 'a'",
        HELD_AT_MOST + timedelta(minutes=1),
    )

    await claim(connection)
    await claim(connection)

    found = await states(connection)
    assert (found["a", "opened"], found["b", "opened"]) == (WAITING, HELD)


async def test_an_alert_that_is_being_sent_is_left_alone(connection: asyncpg.Connection) -> None:
    await sink(connection, absent("a"))
    await connection.execute("update alert_outbox set claimed_by = 'x', lease_until = now() + interval '1 minute'")
    await fall_ill(connection)

    await claim(connection)

    assert (await states(connection))["a", "opened"] == WAITING


async def test_what_is_stored_right_before_alerts_find_their_channel_is_held_too(
    connection: asyncpg.Connection, database: str
) -> None:
    other = await asyncpg.connect(database)
    await fall_ill(connection)

    class Late(Triage):
        async def address(self, connection: Any) -> None:
            await sink(other, absent("a"))
            await super().address(connection)

    async with asyncpg.create_pool(database, min_size=1) as pool, pool.acquire() as notifier, notifier.transaction():
        await Late((), "slack", Timing()).decide(notifier, "slack", edits=False)

    assert (await states(connection))["a", "opened"] == HELD
    await other.close()
