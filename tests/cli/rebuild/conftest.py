"""`watchline rebuild` on a database that a sink has filled."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from brokers.kinds import Broker
from deciding.calls import call_here
from letters.letters import Result
from rebuilding.calls import Call
from rebuilding.stored import store
from rebuilding.story import decide, story
from watchline.schemas.topics import Topics


@pytest.fixture
async def stored(broker: Broker, topics: Topics, database: str, connection: asyncpg.Connection) -> Topics:
    await store(broker, topics, database, {0: story(0, 20)})
    await decide(connection)
    return topics


@pytest.fixture
def call(
    broker: Broker, stored: Topics, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", stored.prefix)

    async def rebuild(*arguments: str) -> Result:
        return await asyncio.to_thread(call_here, capsys, "rebuild", *arguments)

    return rebuild
