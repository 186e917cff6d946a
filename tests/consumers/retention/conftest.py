"""Retention on a fresh database, as the role of the sink."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from aging.passes import Passes
from security.logins import login
from sinking.tables import Sinking
from watchline.consumers.roles import WRITER


@pytest.fixture
async def passes(database: str, connection: asyncpg.Connection) -> AsyncIterator[Passes]:
    async with login(database, WRITER) as dsn:
        sinking = Sinking(database, connection)
        await sinking.join()
        yield Passes(dsn, sinking)
        await sinking.writer.close()
