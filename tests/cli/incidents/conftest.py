"""`watchline incidents` and its like on a database with incidents in it."""

from __future__ import annotations

import asyncio

import pytest

from brokers.kinds import Broker
from deciding.calls import Store, put
from watchline.schemas import Topics


@pytest.fixture
def store(database: str) -> Store:
    return lambda *records: asyncio.run(put(database, *records))


@pytest.fixture
def kafka(broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)
    return broker
