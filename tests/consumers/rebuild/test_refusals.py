"""What stops a rebuild before anything has changed."""

from __future__ import annotations

import asyncpg
import pytest
from pydantic import SecretStr

from brokers.kinds import Broker
from rebuilding.calls import call, contents
from security.logins import login
from sinking.services import settings_for
from watchline.consumers import locks
from watchline.consumers.rebuild import log
from watchline.consumers.roles import WRITER
from watchline.consumers.sink.settings import SinkSettings
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.topics import Topics


async def test_who_does_not_own_the_tables_is_told_who_does(stored: SinkSettings, database: str) -> None:
    async with login(database, WRITER) as dsn:
        with pytest.raises(Misconfigured, match=r"only the owner of the tables, .*, may rebuild them"):
            await call(stored.model_copy(update={"postgres_dsn": SecretStr(dsn)}))


async def test_a_member_of_the_owner_rebuilds_and_the_owner_stays(
    stored: SinkSettings, database: str, connection: asyncpg.Connection
) -> None:
    async with login(database) as owner:
        name = owner.partition("//")[2].partition(":")[0]
        own = await connection.fetchval("select current_user")
        await give(connection, name)
        async with login(database, name) as member:
            outcome = await call(stored.model_copy(update={"postgres_dsn": SecretStr(member)}))

        owners = await connection.fetch("select distinct tableowner from pg_tables where schemaname = 'public'")
        await give(connection, own)
    assert outcome.swapped
    assert [row[0] for row in owners] == [name]


async def give(connection: asyncpg.Connection, owner: str) -> None:
    """Give everything of Watchline's to `owner`, who may then make schemas."""
    database = await connection.fetchval("select current_database()")
    await connection.execute(f'grant create on database "{database}" to "{owner}"')
    for schema in ("public", "reporting"):
        await connection.execute(f'alter schema {schema} owner to "{owner}"')
        relations = await connection.fetch(
            "select relname, relkind::text from pg_class "
            "where relnamespace = $1::text::regnamespace and relkind in ('r', 'v')",
            schema,
        )
        for relation, kind in relations:
            word = "view" if kind == "v" else "table"
            await connection.execute(f'alter {word} {schema}.{relation} owner to "{owner}"')


async def test_a_sink_that_has_stored_nothing_leaves_nothing_to_rebuild(
    broker: Broker, topics: Topics, database: str
) -> None:
    with pytest.raises(Misconfigured, match="there is nothing to rebuild"):
        await call(settings_for(broker, topics, database))


async def test_a_log_that_ends_before_the_sink_stands_is_not_waited_for_without_end(
    stored: SinkSettings, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "PATIENCE_SECONDS", 1.0)
    await connection.execute("update sink_offsets set next_offset = 10000 where next_offset > 100")
    before = await contents(connection)

    with pytest.raises(Unavailable, match="gives nothing behind offset 202, and the sink stands at 10000"):
        await call(stored)

    assert await contents(connection) == before


async def test_tables_that_are_being_migrated_are_not_swapped(
    stored: SinkSettings, connection: asyncpg.Connection
) -> None:
    before = await contents(connection)
    await connection.execute("select pg_advisory_lock($1::bigint)", locks.MIGRATIONS)

    with pytest.raises(Misconfigured, match="are being migrated"):
        await call(stored)

    assert await contents(connection) == before
