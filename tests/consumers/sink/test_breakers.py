"""A sink that can read hardly anything of a topic stops, with all of it put aside."""

from __future__ import annotations

import asyncpg
import pytest

from brokers.kinds import Broker
from sinking.records import ended, started
from sinking.services import produce, running, settings_for, until
from watchline.schemas.errors import WatchlineError
from watchline.schemas.topics import Topics

LETTERS = "select count(*) from dead_letters"
READ = "select next_offset from sink_offsets where partition = 0 and topic = '{}'"


async def test_it_stops_behind_what_it_has_put_aside_and_goes_on_when_told_to(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database, batch_size=10, breaker_window=40)
    await produce(broker, topics, [started("before"), *[b"\xff nonsense"] * 60, started("behind")])

    with pytest.raises(WatchlineError, match=f"21 of the last 40 records of {topics.state} are bad: invalid_json"):
        async with running(settings) as task:
            await task
    letters = await connection.fetchval(LETTERS)
    offset = await connection.fetchval(READ.format(topics.state))
    async with running(settings.model_copy(update={"breaker_share": 1.0})):
        await until(connection, "select count(*) from runs", 2)

    assert 20 < letters <= 30
    assert offset == 1 + letters
    assert await connection.fetchval(LETTERS) == 60


async def test_what_postgres_refuses_stops_nobody(
    broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection
) -> None:
    settings = settings_for(broker, topics, database, breaker_window=4)
    refused = [ended(f"run {n}", inserts=-1) for n in range(6)]
    await produce(broker, topics, [*refused, started("behind")])

    async with running(settings):
        await until(connection, LETTERS, 6)
        await until(connection, "select count(*) from runs", 1)
