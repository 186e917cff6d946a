"""Scenario 25, the part of the watch: Postgres can't be reached for 10 min, then old pulses are read again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import asyncpg

from ingesting.pulses import arrive
from watchline.consumers.sink.ingestion import store_pulses
from watchline.consumers.watch.health import Health, Patience, Reading, causes_of, judge
from watchline.consumers.watch.service import look
from watchline.consumers.watch.settings import WatchSettings
from watchline.consumers.watch.vitals import Vitals
from watchline.schemas.records import PulseRecord, revision_of

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def test_the_first_look_afterwards_accuses_nobody_while_the_sink_catches_up() -> None:
    health = Health()
    for second in (0, 15, 615, 630, 645, 660):  # nothing can be looked at in between
        now = NOON + timedelta(seconds=second)
        newest = now if second <= 15 or second >= 645 else NOON + timedelta(seconds=15)
        readings = [Reading(0, newest - timedelta(seconds=1), newest)]

        health = judge(health, causes_of(readings, {}, now, Patience()), now, Patience())

        assert not health.ill


async def test_pulses_of_a_week_ago_that_are_read_again_make_nothing_late(connection: asyncpg.Connection) -> None:
    await arrive(connection)
    await connection.execute("update ingestion set revision = $1", revision_of(0, 1_000_000))
    old = [
        PulseRecord(revision=revision_of(0, number), partition=0, at=NOON - timedelta(days=7), events=1)
        for number in range(100)
    ]

    await store_pulses(connection, old)
    health = await look(connection, Health(), WatchSettings(ingestion_ill_seconds=0), Vitals())

    assert health == Health()
    assert await connection.fetchval("select count(*) from incidents") == 0
