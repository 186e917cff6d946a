"""The table `retention`: from when on each table is whole, and when it was last pruned."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import asyncpg

from watchline.consumers.retention.days import next_pass

NOTE = "insert into retention (table_name, noted_at) select unnest($1::text[]), $2 on conflict do nothing"
PASSES = "select pruned_at, noted_at from retention where table_name = any($1::text[])"
# It never goes back: what was deleted under shorter days does not come again.
KEPT_FROM = """
insert into retention (table_name, noted_at, kept_from) values ($1, $2, $3)
on conflict (table_name) do update set kept_from = greatest(retention.kept_from, excluded.kept_from)
"""
PRUNED = "update retention set pruned_at = $2, deleted = $3 where table_name = $1"


async def due_at(connection: asyncpg.Connection, tables: Iterable[str], *, now: datetime, hour: int) -> datetime:
    """When the next pass is due; what nobody has ever looked at is noted with `now`."""
    names = list(tables)
    await connection.execute(NOTE, names, now)
    passes = await connection.fetch(PASSES, names)
    return min(next_pass(row["pruned_at"], row["noted_at"], hour) for row in passes)


async def note_kept_from(connection: asyncpg.Connection, table: str, *, kept_from: datetime, now: datetime) -> None:
    """Say that what is older may be gone; committed before the first row goes."""
    await connection.execute(KEPT_FROM, table, now, kept_from)


async def note_pruned(connection: asyncpg.Connection, table: str, *, deleted: int, now: datetime) -> None:
    """Say that the pass that began at `now` has come to the table's end."""
    await connection.execute(PRUNED, table, now, deleted)
