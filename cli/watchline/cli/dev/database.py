"""The database of a local Watchline."""

from __future__ import annotations

import asyncpg

from watchline.cli.reach import postgres


async def ensure_database(dsn: str, name: str) -> None:
    """Create the database `name` unless it exists; `dsn` leads to another one of the same server."""
    async with postgres(dsn) as connection:
        try:
            await connection.execute(f'CREATE DATABASE "{name}"')
        except asyncpg.DuplicateDatabaseError:  # kept from an earlier start
            return
