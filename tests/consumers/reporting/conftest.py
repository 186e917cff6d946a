"""One database for all tests of the views: each sees only what it wrote, in a transaction that is taken back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import asyncpg
import pytest

from brokers.databases import Postgres, create_database, drop_database


@pytest.fixture(scope="session")
def shared_database(postgres: Postgres, template_database: str) -> Iterator[str]:
    name = f"t_{uuid4().hex[:12]}"
    yield asyncio.run(create_database(postgres, name, template=template_database))
    asyncio.run(drop_database(postgres, name))


@pytest.fixture
async def connection(shared_database: str) -> AsyncIterator[asyncpg.Connection]:
    opened = await asyncpg.connect(shared_database)
    written = opened.transaction()
    await written.start()
    yield opened
    await written.rollback()
    await opened.close()
