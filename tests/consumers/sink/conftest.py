"""A writer on a fresh database."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from sinking.tables import Sinking


@pytest.fixture
async def sinking(database: str, connection: asyncpg.Connection) -> AsyncIterator[Sinking]:
    sinking = Sinking(database, connection)
    await sinking.join()
    yield sinking
    await sinking.writer.close()
