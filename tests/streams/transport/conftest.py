"""Applications on an in-memory broker, with stock classes or ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from faust.streams import Stream
from faust.tables.manager import TableManager
from faust.tables.table import Table

from streams.transport.memory import (  # noqa: TID251 - the folder of these tests
    PARTITIONS,
    MemoryBroker,
    MemoryConsumer,
)
from watchline.schemas.connection import KafkaConnection
from watchline.streams.transport import StreamsApp, make_app

Make = Callable[..., StreamsApp]


@pytest.fixture
async def memory() -> MemoryBroker:
    return MemoryBroker()


@pytest.fixture
async def make(memory: MemoryBroker, tmp_path: Path) -> AsyncIterator[Make]:
    """Make applications that are stopped at the end; `stock=True` takes all of Faust's own classes."""
    made: list[StreamsApp] = []

    def build(*, stock: bool = False, commit_interval: float = 0.2, **overrides: Any) -> StreamsApp:
        number = len(made)
        app = make_app(
            app_id="watched",
            kafka=KafkaConnection(),
            partitions=PARTITIONS,
            data_dir=tmp_path / str(number),
            commit_interval=commit_interval,
        )
        settings: dict[str, Any] = {"canonical_url": f"http://worker-{number}:6066"}
        if stock:
            settings |= {"Stream": Stream, "Table": Table, "TableManager": TableManager}
        for name, value in (settings | overrides).items():
            setattr(app.conf, name, value)
        memory.attach(app, stock=stock)
        made.append(app)
        return app

    yield build
    for app in made:
        if app.started:
            cast(MemoryConsumer, app.consumer).buried.set()
            await asyncio.wait_for(app.stop(), 20)
