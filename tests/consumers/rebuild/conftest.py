"""A sink that has stored the story and stopped."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from brokers.kinds import Broker
from rebuilding.story import decide, story
from sinking.services import produce, running, settings_for, until
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.topics import Topics

AGES = 10**8  # seconds: the story is of a fixed day, and alerts are written of it
RUNS = 40


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database)
    yield opened
    await opened.close()


@pytest.fixture
async def stored(broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection) -> SinkSettings:
    """Settings of the sink that stored it."""
    settings = settings_for(broker, topics, database, alert_max_age_seconds=AGES, batch_size=30)
    parts = story(0, RUNS), story(RUNS, RUNS + 4, partition=1)
    for partition, records in enumerate(parts):
        await produce(broker, topics, records, partition=partition)
    async with running(settings):
        await all_stored(connection, sum(map(len, parts)))
    await decide(connection)
    return settings


async def all_stored(connection: asyncpg.Connection, records: int) -> None:
    """Return when the sink stands behind so many records."""
    await until(connection, "select sum(next_offset)::int from sink_offsets", records)
