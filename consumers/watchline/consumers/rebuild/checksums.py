"""Whether the views of `reporting` say the same over the fresh tables as over the old ones."""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass

import asyncpg

from watchline.consumers.rebuild.tables import CHECKED
from watchline.consumers.rebuild.views import copy_views

# Columns that say when this database heard of something, not what the log says: carried over as long as the row is
# otherwise the same, and new in a row that had been lost.
HEARD = {
    "runs": {"stored_at"},
    "pipelines": {"first_seen_at"},
    "ingestion": {"stored_at", "delay_seconds"},
}
# Views that follow from others which are compared, and are too large to be read as a whole.
FOLLOW = {"lineage_paths": "its paths follow from `lineage`, and can be as many as the square of the datasets"}
# now() is that of the transaction: the same for both readings. Sums of doubles depend on the order of rows in their
# last digits, which are not printed.
SETTINGS = "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local extra_float_digits = 0"
COLUMNS = """
select c.column_name, quote_ident(c.column_name) from information_schema.columns c
where c.table_schema = 'reporting' and c.table_name = $1 order by c.ordinal_position
"""
WHOLE = 2**64


@dataclass(frozen=True, slots=True)
class Checksum:
    """A set of rows, whatever their order: how many, and the sum of their hashes."""

    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a view said over the old tables, and over the fresh ones."""

    view: str
    before: Checksum
    after: Checksum

    @property
    def equal(self) -> bool:
        """Whether both say the same."""
        return self.before == self.after


async def compare(connection: asyncpg.Connection, tell: Callable[[str], None]) -> list[Comparison]:
    """Compare every view; call it in a transaction, which sees both sides at one moment. Leaves nothing behind."""
    found: list[Comparison] = []
    trial = connection.transaction()
    await trial.start()
    try:
        for view in await copy_views(connection):
            if view not in FOLLOW:
                tell(view)
                before, after = [
                    await checksum(connection, view, schema=one, without=HEARD.get(view, ()))
                    for one in ("reporting", CHECKED)
                ]
                found.append(Comparison(view, before, after))
    finally:
        await trial.rollback()
    return found


async def checksum(
    connection: asyncpg.Connection, view: str, *, schema: str = "reporting", without: Container[str] = ()
) -> Checksum:
    """The checksum of a view of `reporting`, or of its copy in another schema, over its columns but for some.

    Call it in a transaction: it changes settings for the rest of it.
    """
    await connection.execute(SETTINGS)
    columns = [f"one.{quoted}" for name, quoted in await connection.fetch(COLUMNS, view) if name not in without]
    row = await connection.fetchrow(
        f"select count(*) as rows, coalesce(sum(hashtextextended(row({', '.join(columns)})::text, 0)), 0) as total "  # noqa: S608 - constants, and names that Postgres quotes
        f"from {schema}.{await connection.fetchval('select quote_ident($1)', view)} as one"
    )
    assert row is not None
    return Checksum(row["rows"], f"{int(row['total']) % WHOLE:016x}")
