"""A writer on a fresh database that also has the views which count all runs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from sinking.tables import Sinking
from sinking.truth import make_truth


@pytest.fixture
async def sinking(database: str, connection: asyncpg.Connection) -> AsyncIterator[Sinking]:
    await make_truth(connection)
    sinking = Sinking(database, connection)
    await sinking.join()
    yield sinking
    await sinking.writer.close()
