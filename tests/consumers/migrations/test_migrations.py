"""Bringing a database up to this version."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from brokers.databases import Postgres
from watchline.consumers.migrations import migrate, scripts
from watchline.schemas.errors import Misconfigured, Unavailable

EXPECTED = [one.revision for one in ScriptDirectory(str(scripts())).walk_revisions()][::-1]


async def test_four_at_once_apply_each_revision_once(empty_database: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_database) for _ in range(4)))

    assert sorted(applied) == [[], [], [], EXPECTED]
    assert await migrate(empty_database) == []


async def test_a_failing_revision_leaves_nothing_behind(empty_database: str) -> None:
    connection = await asyncpg.connect(empty_database)
    await connection.execute("create schema reporting")  # in the way of the second revision
    try:
        with pytest.raises(Exception, match="reporting"):
            await migrate(empty_database)
        assert await connection.fetchval("select to_regclass('runs')") is None

        await connection.execute("drop schema reporting")
        assert await migrate(empty_database) == EXPECTED
    finally:
        await connection.close()


async def test_every_column_for_analysts_says_what_it_is(database: str) -> None:
    connection = await asyncpg.connect(database)
    silent = await connection.fetch(
        "select attrelid::regclass::text, attname from pg_attribute join pg_class on oid = attrelid "
        "where relnamespace = 'reporting'::regnamespace and attnum > 0 and col_description(attrelid, attnum) is null"
    )
    views = await connection.fetchval(
        "select array_agg(relname) from pg_class "
        "where relnamespace = 'reporting'::regnamespace and obj_description(oid) is null"
    )
    await connection.close()

    assert silent == []
    assert views is None


async def test_at_most_one_incident_is_open_per_fingerprint(database: str) -> None:
    connection = await asyncpg.connect(database)
    insert = (
        "insert into incidents (incident_id, fingerprint, pipeline, kind, status, severity, title, opened_at, "
        "cause_at, updated_at, transition_no, revision) "
        "values (gen_random_uuid(), 'f', 'p', 'failure', $1, 'warn', 't', now(), now(), now(), 1, 1)"
    )
    for _ in range(2):
        await connection.execute(insert, "resolved")
    await connection.execute(insert, "open")

    with pytest.raises(asyncpg.UniqueViolationError, match="incidents_one_open"):
        await connection.execute(insert, "open")
    await connection.close()


async def test_a_database_that_does_not_exist_is_named(postgres: Postgres) -> None:
    with pytest.raises(Misconfigured, match="no_such_database"):
        await migrate(postgres.dsn_of("no_such_database"))


async def test_an_address_where_nobody_answers_is_unavailable_and_keeps_the_password() -> None:
    with pytest.raises(Unavailable) as error:
        await migrate("postgresql://user:canary@127.0.0.1:1/watchline")

    assert "canary" not in f"{error.value} {error.value.hint}"


async def test_a_dsn_that_is_none_is_misconfigured() -> None:
    with pytest.raises(Misconfigured) as error:
        await migrate("mysql://user:canary@127.0.0.1/watchline")

    assert "canary" not in f"{error.value} {error.value.hint}"


def test_the_scripts_are_found_from_a_checkout() -> None:
    assert (scripts() / "versions" / "0001_tables.py").is_file()
