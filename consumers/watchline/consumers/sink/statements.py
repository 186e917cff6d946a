"""SQL for the small tables: rows travel as one JSON parameter, identifiers are constants of this package."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def upsert(table: str, key: str, columns: str, *, stamp: str = "stored_at", newer: str = "revision") -> str:
    """Insert or replace rows that are newer by the columns `newer`; `$1` is a JSON list of rows, unique by key."""
    changed = [name for name in columns.split() if name not in key.split()]
    return (
        f"{insert(table, key, columns)} on conflict ({commas(key)}) do update set "
        f"{', '.join(f'{name} = excluded.{name}' for name in changed)}, {stamp} = now() "
        f"where ({qualified('excluded', newer)}) > ({qualified(table, newer)})"
    )


def insert(table: str, key: str, columns: str) -> str:
    """Insert the rows of the JSON list `$1`, in order of their key: two writers then never deadlock."""
    names = commas(columns)
    return (
        f"insert into {table} ({names}) select {names} "  # noqa: S608 - constants
        f"from jsonb_populate_recordset(null::{table}, $1::jsonb) order by {commas(key)}"
    )


def rows(values: Iterable[dict[str, Any]]) -> str:
    """The JSON list that the statements take; times, UUIDs and decimals as text."""
    return json.dumps(list(values), default=str, separators=(",", ":"))


def qualified(table: str, names: str) -> str:
    return ", ".join(f"{table}.{name}" for name in names.split())


def commas(names: str) -> str:
    return ", ".join(names.split())
