"""Bare connections for the tests of the proxies, and Kafkas beside the one of the session."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from brokers.apache import REPOSITORY, ApacheBroker
from brokers.kinds import Broker
from network.kafka import KafkaProxy, behind
from network.peers import Client
from network.proxy import Proxy

# Read once, as in tests/conftest.py: the tests themselves run without any WATCHLINE_*.
APACHE = os.environ.get("WATCHLINE_TEST_BROKER") == "apache"
CACHE = Path(os.environ.get("WATCHLINE_CACHE_DIR") or REPOSITORY / ".cache")


@pytest.fixture
def connect(proxy: Proxy) -> Iterator[Callable[[], Client]]:
    """New connections to `proxy`, which the module defines."""
    made: list[Client] = []

    def make() -> Client:
        made.append(Client(proxy.port))
        return made[-1]

    yield make
    for client in made:
        client.close()


@pytest.fixture
async def broker_proxy(broker: Broker) -> AsyncIterator[KafkaProxy]:
    """A proxy that clients of the session's broker stay on."""
    if not isinstance(broker, ApacheBroker):
        pytest.skip("only Apache Kafka from its jars advertises the address of a proxy")
    async with behind(broker) as started:
        yield started


@pytest.fixture(scope="session")
def jars() -> Path:
    """The cache with Apache Kafka's jars, for tests that start one of their own."""
    if not APACHE:
        pytest.skip("only Apache Kafka from its jars can be started in another form")
    return CACHE
