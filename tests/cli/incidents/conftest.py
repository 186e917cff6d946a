"""A database to put incidents into."""

from __future__ import annotations

import asyncio

import pytest

from deciding.calls import Store, put


@pytest.fixture
def store(database: str) -> Store:
    return lambda *records: asyncio.run(put(database, *records))
