"""Users of the database that exist for one test: roles belong to the whole server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import quote, urlsplit
from uuid import uuid4

import asyncpg
import pytest


@asynccontextmanager
async def login(admin: str, role: str | None = None, options: str = "", *, password: str = "") -> AsyncIterator[str]:
    """The URL of the database `admin` for a new user, a member of `role`; it may leave nothing behind."""
    name, secret = f"t_{uuid4().hex[:12]}", password or uuid4().hex
    member = f"in role {role}" if role else ""
    await execute(admin, f"create role {name} login password '{secret}' {options} {member}")
    try:
        parts = urlsplit(admin)
        host = parts.netloc.rpartition("@")[2]
        yield parts._replace(netloc=f"{name}:{quote(secret, safe='')}@{host}").geturl()
    finally:
        await execute(admin, f"drop owned by {name} cascade", f"drop role {name}")


async def execute(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@contextmanager
def refused(state: str = "42501") -> Iterator[None]:
    """What is within has to be refused with that SQLSTATE (permission denied)."""
    with pytest.raises(asyncpg.PostgresError) as caught:
        yield
    assert caught.value.sqlstate == state, caught.value
