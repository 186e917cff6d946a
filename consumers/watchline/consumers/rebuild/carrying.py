"""What only the old tables know: when this database heard of a row, the incidents of its own, decisions on letters."""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

from watchline.consumers.rebuild.letters import carry_letters
from watchline.consumers.rebuild.structure import columns_of
from watchline.consumers.rebuild.tables import FOLDED, FRESH, Folded

# Small enough to be carried while nobody may read the tables.
SMALL = ("pipelines", "pipeline_types")
# Ingestion's own incidents come from no log: their revision is 0.
OWN = ("incidents", "incident_events")


async def carry(connection: asyncpg.Connection, own_topics: Iterable[str], *, older: bool) -> int:
    """Carry everything over into the fresh tables; how many letters the log did not give back."""
    columns = await columns_of(connection, FOLDED)
    for name, table in FOLDED.items():
        await carry_times(connection, name, table, columns[name])
    return await carry_own(connection, columns, own_topics, older=older)


async def carry_late(connection: asyncpg.Connection, own_topics: Iterable[str]) -> None:
    """Carry over what may have changed since `carry`, quickly: the rest of the rows keeps the time of this reading."""
    columns = await columns_of(connection, FOLDED)
    for name in SMALL:
        await carry_times(connection, name, FOLDED[name], columns[name])
    await carry_own(connection, columns, own_topics, older=False)


async def carry_own(
    connection: asyncpg.Connection, columns: dict[str, list[str]], own_topics: Iterable[str], *, older: bool
) -> int:
    """Incidents of ingestion, and decisions about letters; how many letters the log did not give back."""
    for name in OWN:
        names = ", ".join(columns[name])
        await connection.execute(f"delete from {FRESH}.{name} where revision = 0")  # noqa: S608 - constants
        await connection.execute(
            f"insert into {FRESH}.{name} ({names}) select {names} from public.{name} where revision = 0"  # noqa: S608 - constants, and names that Postgres quotes
        )
    return await carry_letters(connection, columns["dead_letters"], own_topics, older=older)


async def carry_times(connection: asyncpg.Connection, name: str, table: Folded, columns: list[str]) -> None:
    """When this database heard of the rows."""
    if table.first:
        await connection.execute(times(name, table, table.first, ()))
    if table.heard:
        rest = [one for one in columns if one not in (*table.key.split(), table.heard, table.first)]
        await connection.execute(times(name, table, table.heard, rest))


def times(name: str, table: Folded, stamp: str, rest: Iterable[str]) -> str:
    """The statement that sets `stamp` in rows that are the same by their key and the `rest`."""
    same = [f"f.{one} = o.{one}" for one in table.key.split()]
    if names := list(rest):
        ours, theirs = (", ".join(f"{side}.{one}" for one in names) for side in "fo")
        same.append(f"({ours}) is not distinct from ({theirs})")
    return (
        f"update {FRESH}.{name} f set {stamp} = o.{stamp} from public.{name} o "  # noqa: S608 - constants, and names that Postgres quotes
        f"where {' and '.join(same)} and f.{stamp} <> o.{stamp}"
    )
