"""`watchline restore-state` on the topics and the database of a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from brokers.kinds import Broker
from deciding.calls import call_here
from letters.letters import Result
from stack.services import PARTITIONS
from watchline.schemas import Topics


@pytest.fixture
def restore(
    broker: Broker, topics: Topics, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Any]:
    """Run the command in this process, from inside a running loop; the log is of epoch 1, what Postgres has of 0."""
    for name, value in {
        "KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "TOPIC_PREFIX": topics.prefix, "POSTGRES_DSN": database,
        "PARTITIONS": str(PARTITIONS), "LOG_EPOCH": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"WATCHLINE_{name}", value)

    async def call(*arguments: str) -> Result:
        return await asyncio.to_thread(call_here, capsys, "restore-state", *arguments)

    return call
