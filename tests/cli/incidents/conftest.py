"""`watchline incidents` and its like on a database with incidents in it."""

from __future__ import annotations

import asyncio

import pytest

from brokers.kinds import Broker
from deciding.calls import Call, Store, put
from letters.letters import Result
from watchline.cli.main import run
from watchline.schemas import Topics


@pytest.fixture
def store(database: str) -> Store:
    return lambda *records: asyncio.run(put(database, *records))


@pytest.fixture
def call(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command line in this process."""
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        code = run(list(arguments))
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return call


@pytest.fixture
def kafka(broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> Broker:
    monkeypatch.setenv("WATCHLINE_KAFKA_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
    monkeypatch.setenv("WATCHLINE_TOPIC_PREFIX", topics.prefix)
    return broker
