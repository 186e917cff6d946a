"""How the roles come into being, on a server that has none of them."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from uuid import uuid4

import pytest

from brokers.databases import QUICK, Postgres, create_database, drop_database
from security.logins import execute, login, refused
from stack.contents import rows, value
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.cli.main import run
from watchline.consumers.migrations import migrate
from watchline.consumers.roles import NOTIFIER, READER, ROLES, WRITER

MADE = "select rolname from pg_roles where rolname = any($1) order by rolname"
DATABASES = "select datname from pg_database where not datistemplate"
RIGHTS = """
select grantee, table_schema, table_name, privilege_type from information_schema.table_privileges
where grantee = any($1) order by 1, 2, 3, 4
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A server of its own: roles belong to the whole server, and that of the other tests has them."""
    with EmbeddedPostgres(tmp_path_factory.mktemp("bare") / "postgres", settings=QUICK) as embedded:
        yield Postgres(embedded.dsn)


@pytest.fixture
async def bare(server: Postgres) -> AsyncIterator[Postgres]:
    """The same without the roles of the test before."""
    yield server
    for (name,) in await rows(server.dsn, DATABASES):
        if name.startswith("t_"):
            await drop_database(server, name)
    for (role,) in await rows(server.dsn, MADE, list(ROLES)):
        await execute(server.dsn, f"drop role {role}")


@pytest.fixture
async def plain(bare: Postgres) -> AsyncIterator[tuple[str, str]]:
    """A database as its owner, who may create no role, and as the administrator."""
    name = f"t_{uuid4().hex[:12]}"
    admin = await create_database(bare, name)
    async with login(admin) as dsn:
        user = dsn.split("//")[1].split(":")[0]
        await execute(admin, f"alter database {name} owner to {user}")
        yield dsn, admin
        await execute(admin, f"alter database {name} owner to current_user")


async def test_databases_that_are_migrated_at_once_make_each_role_once_and_can_be_dropped(bare: Postgres) -> None:
    names = [f"t_{uuid4().hex[:12]}" for _ in range(3)]
    addresses = [await create_database(bare, name) for name in names]

    outcomes = await asyncio.gather(*map(migrate_beside, addresses))
    rights = [await rows(address, RIGHTS, list(ROLES)) for address in addresses]
    for name in names:
        await drop_database(bare, name)

    assert outcomes == [0, 0, 0]
    assert await rows(bare.dsn, MADE, list(ROLES)) == [(role,) for role in sorted(ROLES)]
    assert rights[0] == rights[1] == rights[2] != []


async def migrate_beside(dsn: str) -> int:
    """`watchline migrate` as a process of its own: alembic knows one migration at a time."""
    environment = {"WATCHLINE_POSTGRES_DSN": dsn}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "watchline.cli", "migrate", env=environment, stdout=PIPE, stderr=PIPE
    )
    _, said = await process.communicate()
    assert process.returncode is not None
    assert process.returncode == 0, said.decode()
    return process.returncode


async def test_a_user_who_may_create_roles_and_is_no_superuser_makes_them(bare: Postgres) -> None:
    name = f"t_{uuid4().hex[:12]}"
    admin = await create_database(bare, name)
    async with login(admin, options="createrole") as dsn:
        user = dsn.split("//")[1].split(":")[0]
        await execute(admin, f"alter database {name} owner to {user}")
        await migrate(dsn)
        limit = await value(admin, "select rolconnlimit from pg_roles where rolname = $1", READER)
        granted = await rows(admin, RIGHTS, list(ROLES))
        await execute(admin, f"alter database {name} owner to current_user")

    assert limit == 20
    assert {role for role, *_ in granted} == set(ROLES)


async def test_a_user_who_may_create_no_role_is_migrated_all_the_same_and_told_what_to_do(
    plain: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn, admin = plain
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", dsn)

    assert await asyncio.to_thread(run, ["migrate"]) == 0
    said = capsys.readouterr().err
    assert await asyncio.to_thread(run, ["migrate", "--roles-sql"]) == 0
    printed = capsys.readouterr().out
    await execute(admin, printed)

    assert "may not create: watchline_writer, watchline_notifier, watchline_reader" in said
    assert "watchline migrate --roles-sql" in said
    await assert_rights_hold(admin)


async def test_roles_that_come_later_get_their_rights_by_the_next_migrate(plain: tuple[str, str]) -> None:
    dsn, admin = plain
    await migrate(dsn)
    await execute(admin, *(f"create role {role} nologin" for role in ROLES))

    await migrate(dsn)

    await assert_rights_hold(admin)


async def assert_rights_hold(admin: str) -> None:
    """Writer, notifier and reader may each do what is theirs, and a later view is readable."""
    async with login(admin, WRITER) as writer, login(admin, NOTIFIER) as told, login(admin, READER) as reader:
        await execute(writer, "create temporary table mine as select * from runs", "select * from alert_outbox")
        await execute(told, "update alert_outbox set state = 'sent'")
        await execute(reader, "select * from reporting.runs")
        for one in (writer, told, reader):
            with refused():
                await execute(one, "delete from pipelines")


async def test_a_database_of_the_version_before_gets_its_roles(bare: Postgres) -> None:
    dsn = await create_database(bare, f"t_{uuid4().hex[:12]}")
    await migrate(dsn, to="0003")
    for role in ROLES:  # which that version did not know
        await execute(dsn, f"drop owned by {role}", f"drop role {role}")

    applied = await migrate(dsn)

    assert applied[0] == "0004"
    await assert_rights_hold(dsn)
