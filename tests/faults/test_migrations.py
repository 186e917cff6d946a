"""A migration dies inside and between its steps: running it again gives the schema of one that never died."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.lives import die
from stack.contents import rows, value
from stack.services import services
from watchline.consumers.migrations import migrate
from watchline.schemas import Topics

COLUMNS = """
select table_schema, table_name, column_name, data_type, is_nullable, coalesce(column_default, '')
from information_schema.columns where table_schema in ('public', 'reporting') order by 1, 2, 3
"""
INDEXES = "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2"
CONSTRAINTS = """
select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
where connamespace = 'public'::regnamespace order by 1, 2
"""


REVISIONS = len(list((Path(__file__).parents[2] / "migrations" / "versions").glob("[0-9]*.py")))
BETWEEN = [f"M2:kill:{number}" for number in range(1, REVISIONS + 1)]  # the last one is behind the last revision


@pytest.mark.parametrize("failpoints", [["M1:kill:1"], BETWEEN])
async def test_a_migration_that_died_leaves_nothing_and_can_be_run_again(
    failpoints: list[str], tmp_path: Path, empty_database: str, database: str
) -> None:
    with services(tmp_path, "127.0.0.1:1", empty_database, Topics()) as running:
        for failpoint in failpoints:
            await die(running, "migrate", failpoint)
            assert await value(empty_database, "select to_regclass('runs')") is None

    await migrate(empty_database)

    for query in (COLUMNS, INDEXES, CONSTRAINTS):
        assert await rows(empty_database, query) == await rows(database, query)
