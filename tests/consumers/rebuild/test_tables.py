"""Every table has a fate, and what is said of it agrees with the database."""

from __future__ import annotations

import re

import asyncpg
import pytest

from watchline.consumers.rebuild.checksums import FOLLOW, HEARD
from watchline.consumers.rebuild.structure import LEFT_BEHIND, require_sound
from watchline.consumers.rebuild.tables import DERIVED, FOLDED, MOVED, SCRATCH, TRIGGERS, UNTOUCHED
from watchline.consumers.roles import TABLES, WRITER
from watchline.schemas.errors import Misconfigured

EXISTING = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
KEYS = """
select t.relname, array_agg(a.attname::text order by a.attname) from pg_index i join pg_class t on t.oid = i.indrelid
join pg_attribute a on a.attrelid = t.oid and a.attnum = any(i.indkey::int2[])
where t.relnamespace = 'public'::regnamespace and i.indisunique and i.indpred is null group by t.relname, i.indexrelid
"""
DATED = """
select table_name, column_name from information_schema.columns
where table_schema = 'public' and column_default = 'now()'
"""
VIEWS = "select relname, pg_get_viewdef(oid) from pg_class where relnamespace = 'reporting'::regnamespace"


async def test_every_table_is_folded_from_the_log_derived_from_others_or_left_untouched(
    connection: asyncpg.Connection,
) -> None:
    existing = [name for (name,) in await connection.fetch(EXISTING)]

    assert sorted(existing) == sorted([*FOLDED, *DERIVED, *UNTOUCHED])


def test_the_writer_may_write_every_table_that_is_folded_or_has_a_scratch_copy() -> None:
    written = {name for name, rights in TABLES[WRITER].items() if "insert" in rights}

    assert {*FOLDED, *SCRATCH} <= written
    assert set(SCRATCH) < set(UNTOUCHED)


async def test_the_keys_of_the_folded_tables_are_unique(connection: asyncpg.Connection) -> None:
    unique = {(name, tuple(columns)) for name, columns in await connection.fetch(KEYS)}

    assert {(name, tuple(sorted(table.key.split()))) for name, table in FOLDED.items()} <= unique


async def test_every_column_that_is_filled_by_the_clock_is_carried_over(connection: asyncpg.Connection) -> None:
    dated = {(table, column) for table, column in await connection.fetch(DATED) if table in FOLDED}
    carried = {(name, column) for name, table in FOLDED.items() for column in (table.heard, table.first) if column}

    assert dated == carried | {("dead_letters", "stored_at")}  # with the decisions on it


async def test_nothing_hangs_on_the_tables_that_a_swap_would_leave_behind(connection: asyncpg.Connection) -> None:
    assert await connection.fetch(LEFT_BEHIND, list(MOVED), list(TRIGGERS)) == []


async def test_no_view_tells_the_time_by_another_clock_than_that_of_its_transaction(
    connection: asyncpg.Connection,
) -> None:
    other = re.compile(r"clock_timestamp|statement_timestamp|random\(", re.IGNORECASE)

    assert [name for name, text in await connection.fetch(VIEWS) if other.search(text)] == []


async def test_what_is_left_out_of_the_checksums_exists(connection: asyncpg.Connection) -> None:
    columns = await connection.fetch(
        "select table_name, column_name from information_schema.columns where table_schema = 'reporting'"
    )

    left_out = {(view, column) for view, names in HEARD.items() for column in names}
    assert left_out <= {tuple(row) for row in columns}
    assert all(FOLLOW.values())


async def test_a_trigger_of_somebodys_own_stops_a_rebuild_before_it_begins(connection: asyncpg.Connection) -> None:
    await connection.execute(
        "create function f() returns trigger language plpgsql as 'begin return new; end'; "
        "create trigger own after insert on runs for each row execute function f(); "
        "create materialized view kept as select * from pipelines"
    )

    with pytest.raises(Misconfigured, match="materialized view kept on pipelines; trigger own on runs"):
        await require_sound(connection)
