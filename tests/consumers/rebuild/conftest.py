"""A database in which everything that the sink stores has been stored, and decided about."""

from __future__ import annotations

import asyncpg
import pytest

from brokers.kinds import Broker
from rebuilding.stored import store
from rebuilding.story import decide, story
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.topics import Topics


@pytest.fixture
async def stored(broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection) -> SinkSettings:
    """Settings of the sink that stored it."""
    settings = await store(broker, topics, database, {0: story(0, 40), 1: story(40, 44, partition=1)})
    await decide(connection)
    return settings
