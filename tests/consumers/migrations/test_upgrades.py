"""A database of any age comes to the same schema, keeps its rows, and still serves the version before."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from brokers.databases import Postgres
from brokers.dumps import dump_schema
from releases.statements import say
from security.logins import login
from sinking.truth import all_differences, fold_all, make_truth
from stack.contents import rows
from watchline.consumers.migrations import migrate, scripts
from watchline.consumers.roles import NOTIFIER, WRITER

REVISIONS = [one.revision for one in ScriptDirectory(str(scripts())).walk_revisions()][::-1]
COLUMNS = """
select table_name, string_agg(format('%I', column_name), ', ' order by ordinal_position)
from information_schema.columns join information_schema.tables using (table_schema, table_name)
where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'alembic_version' group by 1 order by 1
"""
# What services of 0003 know nothing of.
NEWER = {
    "expected_runs",
    "run_attempts",
    "ingestion",
    "ingestion_hours",
    "alert_messages",
    "alert_storms",
    "commands",
    "anomaly_feedback",
    "retention",
    "pipeline_days",
    "pipeline_weeks",
    "stale_days",
}
# When it was written, by the clock of the database.
CLOCKS = ("stored_at", "updated_at", "first_seen_at", "created_at", "attempted_at", "sent_at", "next_attempt_at")


async def test_one_revision_after_the_other_ends_in_the_schema_of_all_at_once(
    empty_database: str, postgres: Postgres, template_database: str
) -> None:
    for revision in REVISIONS:
        assert await migrate(empty_database, to=revision) == [revision]

    stepwise = await dump_schema(empty_database)
    at_once = await dump_schema(postgres.dsn_of(template_database))
    assert stepwise == at_once
    for part in ("CREATE VIEW", "COMMENT ON COLUMN", "CREATE UNIQUE INDEX", "ADD CONSTRAINT", "GRANT SELECT"):
        assert part in at_once


@pytest.mark.parametrize("revision", REVISIONS[:-1])
async def test_a_database_that_holds_rows_keeps_them_all(revision: str, empty_database: str) -> None:
    await migrate(empty_database, to=revision)
    await fill(empty_database)
    columns = dict(await rows(empty_database, COLUMNS))
    before = await contents(empty_database, columns)

    applied = await migrate(empty_database)

    assert applied == REVISIONS[REVISIONS.index(revision) + 1 :]
    assert await contents(empty_database, columns) == before
    assert {table for table in columns if not before[table]} <= NEWER


async def test_services_of_the_version_before_write_the_same_rows_in_the_newest_schema(
    database: str, empty_database: str
) -> None:
    await migrate(empty_database, to="0003")
    await fill(empty_database)
    columns = dict(await rows(empty_database, COLUMNS))

    async with login(database, WRITER) as writer, login(database, NOTIFIER) as notifier:
        await speak(writer, "sink")
        await speak(notifier, "notifier")

    found, expected = await contents(database, columns), await contents(empty_database, columns)
    assert {table: without_clocks(table, columns, found[table]) for table in columns} == {
        table: without_clocks(table, columns, expected[table]) for table in columns
    }


async def test_days_that_were_there_are_counted_and_so_is_what_services_of_the_version_before_write(
    empty_database: str,
) -> None:
    await migrate(empty_database, to="0003")
    await fill(empty_database)
    await migrate(empty_database)
    connection = await asyncpg.connect(empty_database)
    await make_truth(connection)

    exact_at_once = await all_differences(connection)
    folded = await fold_all(connection)
    await connection.execute("delete from runs")
    await fold_all(connection)
    await speak(empty_database, "sink")

    assert (exact_at_once, await all_differences(connection)) == ({}, {})
    assert folded > 0
    assert await connection.fetchval("select sum(runs) from reporting.daily") == await connection.fetchval(
        "select count(*) from runs where started_at is not null or ended_at is not null"
    )
    await connection.close()


async def fill(dsn: str) -> None:
    """Rows in every table, as the services of 0003 wrote them."""
    await speak(dsn, "sink")
    await speak(dsn, "notifier")


async def speak(dsn: str, service: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await say(connection, service)
    finally:
        await connection.close()


async def contents(dsn: str, columns: dict[str, str]) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of the tables, in these columns."""
    return {table: await rows(dsn, f"select {names} from {table} order by 1, 2") for table, names in columns.items()}


def without_clocks(table: str, columns: dict[str, str], found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    names = columns[table].split(", ")
    return [tuple(value for name, value in zip(names, row, strict=True) if name not in CLOCKS) for row in found]
