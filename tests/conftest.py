"""Fixtures that any test may ask for.

broker             session   the Kafka that WATCHLINE_TEST_BROKER names: `.bootstrap_servers`, `.durable`
killable_broker    function  an Apache Kafka of its own: `.stop()`, `.kill()`, `.restart()`; else skips
topics             function  a `Topics` with a fresh prefix; all its specs exist with 4 partitions
postgres           session   the server that WATCHLINE_TEST_POSTGRES names: `.dsn`, `.dsn_of(database)`
template_database  session   the name of a migrated database, to copy from
database           function  the URL of a fresh migrated database
empty_database     function  the URL of a fresh database without tables

`@pytest.mark.durable("why")` skips a test on the embedded broker. No test sees WATCHLINE_* variables.
Types and functions are imports: `from brokers.kinds import Broker`, `from brokers.databases import Postgres`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest
from aiokafka.errors import KafkaError

from brokers.apache import REPOSITORY, ApacheBroker
from brokers.databases import Postgres, create_database, drop_database, open_postgres
from brokers.kinds import Broker, open_broker
from brokers.topics import create_topics, delete_topics
from watchline.consumers.migrations import migrate
from watchline.schemas.topics import Topics

# Read once: the tests themselves run without any WATCHLINE_*.
BROKER = os.environ.get("WATCHLINE_TEST_BROKER") or "embedded"
POSTGRES = os.environ.get("WATCHLINE_TEST_POSTGRES") or ("testcontainers" if BROKER == "testcontainers" else "embedded")
CACHE = Path(os.environ.get("WATCHLINE_CACHE_DIR") or REPOSITORY / ".cache")
PARTITIONS = 4


def pytest_configure() -> None:
    """Let jobs feel Ctrl-C also when a shell started these tests in its background, where it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked durable on the embedded broker, with the reason that the mark gives."""
    if BROKER != "embedded":
        return
    for item in items:
        mark = item.get_closest_marker("durable")
        if mark is not None:
            if not mark.args:
                raise pytest.UsageError(f"{item.nodeid} is marked durable and does not say why")
            item.add_marker(pytest.mark.skip(reason=f"not on the embedded broker: {mark.args[0]}"))


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("WATCHLINE_"):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _own_logging() -> Iterator[None]:
    """A command that a test runs in this process sets up logs for good; the next test finds them as they were."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    levels = {name: logging.getLogger(name).level for name in root.manager.loggerDict}
    filters = {name: logging.getLogger(name).filters[:] for name in root.manager.loggerDict}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name in list(root.manager.loggerDict):
        logging.getLogger(name).setLevel(levels.get(name, logging.NOTSET))
        logging.getLogger(name).filters[:] = filters.get(name, [])


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with open_broker(BROKER, tmp_path_factory.mktemp("broker"), cache=CACHE) as opened:
        yield opened


@pytest.fixture
def killable_broker(tmp_path: Path) -> Iterator[ApacheBroker]:
    if BROKER != "apache":
        pytest.skip("only Apache Kafka from its jars can be killed and started again on its log")
    apache = ApacheBroker(tmp_path / "apache", cache=CACHE)
    try:
        apache.start()
        yield apache
    finally:
        apache.stop()


@pytest.fixture
async def topics(broker: Broker) -> AsyncIterator[Topics]:
    fresh = Topics(prefix=f"t{uuid4().hex[:12]}")
    await create_topics(broker.bootstrap_servers, fresh.specs(), partitions=PARTITIONS)
    yield fresh
    with suppress(KafkaError):  # best effort: the broker may be one that the test has killed
        await delete_topics(broker.bootstrap_servers, [spec.name for spec in fresh.specs()])


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    with open_postgres(POSTGRES, tmp_path_factory.mktemp("postgres")) as opened:
        yield opened


@pytest.fixture(scope="session")
def template_database(postgres: Postgres) -> Iterator[str]:
    name = f"watchline_template_{uuid4().hex[:12]}"
    dsn = asyncio.run(create_database(postgres, name))
    asyncio.run(migrate(dsn))
    yield name
    asyncio.run(drop_database(postgres, name))


@pytest.fixture
async def database(postgres: Postgres, template_database: str) -> AsyncIterator[str]:
    name = f"t_{uuid4().hex[:12]}"
    yield await create_database(postgres, name, template=template_database)
    await drop_database(postgres, name)


@pytest.fixture
async def connection(database: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(database)
    yield opened
    await opened.close()


@pytest.fixture
async def empty_database(postgres: Postgres) -> AsyncIterator[str]:
    name = f"t_{uuid4().hex[:12]}"
    yield await create_database(postgres, name)
    await drop_database(postgres, name)
