"""The Postgres servers that WATCHLINE_TEST_POSTGRES chooses from, and databases in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from watchline.cli.local.postgres import EmbeddedPostgres

# A test's data need not outlive a power cut.
QUICK = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server; `dsn` is its maintenance database, as a user who may create others."""

    dsn: str

    def dsn_of(self, database: str) -> str:
        """The URL of another database of this server."""
        return urlsplit(self.dsn)._replace(path=f"/{database}").geturl()


@contextmanager
def open_postgres(choice: str, folder: Path) -> Iterator[Postgres]:
    """The server that `choice` names: embedded, testcontainers, or a URL."""
    if choice == "embedded":
        with EmbeddedPostgres(folder / "postgres", settings=QUICK) as embedded:
            yield Postgres(embedded.dsn)
    elif choice == "testcontainers":
        from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 - asks for Docker when imported

        with PostgresContainer("postgres:17", driver=None) as container:
            yield Postgres(container.get_connection_url())
    else:
        yield Postgres(choice)


async def create_database(postgres: Postgres, name: str, *, template: str = "template1") -> str:
    """Create `name` as a copy of `template` and return its URL."""
    await _execute(postgres, f'create database "{name}" template "{template}"')
    return postgres.dsn_of(name)


async def drop_database(postgres: Postgres, name: str) -> None:
    """Drop `name`, ending what is still connected to it."""
    await _execute(postgres, f'drop database if exists "{name}" with (force)')


async def _execute(postgres: Postgres, statement: str) -> None:
    connection = await asyncpg.connect(postgres.dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
