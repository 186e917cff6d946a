"""What the roles of the database may do, and what not."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from pydantic import SecretStr

from brokers.kinds import Broker
from security.logins import execute, login, refused
from sinking import records
from sinking.services import produce, running, settings_for, until
from slack.fake import FakeSlack
from stack.contents import rows, value
from watchline.consumers import notifier
from watchline.consumers.notifier import NotifierSettings
from watchline.consumers.roles import NOTIFIER, READER, ROLES, TABLES, WRITER
from watchline.schemas.records import SinkRecord
from watchline.schemas.topics import Topics

TABLES_OF = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
VIEWS_OF = "select relname from pg_class where relnamespace = 'reporting'::regnamespace and relkind = 'v'"


@pytest.fixture
async def writer(database: str) -> AsyncIterator[str]:
    async with login(database, WRITER) as dsn:
        yield dsn


@pytest.fixture
async def told(database: str) -> AsyncIterator[str]:
    async with login(database, NOTIFIER) as dsn:
        yield dsn


@pytest.fixture
async def reader(database: str) -> AsyncIterator[str]:
    async with login(database, READER) as dsn:
        yield dsn


async def test_a_sink_and_a_notifier_do_their_work_as_their_roles(
    broker: Broker, topics: Topics, database: str, writer: str, told: str
) -> None:
    everything: list[SinkRecord | bytes] = [
        records.declared(),
        records.started(),
        records.ended(),
        records.advanced(),
        records.anomaly(),
    ]
    failure = records.incident(kind="failure")  # whose cause is looked for
    stop = asyncio.Event()
    admin = await asyncpg.connect(database)
    async with FakeSlack() as slack, running(settings_for(broker, topics, writer, alert_max_age_seconds=10**8)):
        alerting = asyncio.create_task(notifier.run(settings_of(told, slack), stop))
        await produce(broker, topics, [*everything, records.ended(revision=3), failure, records.letter()])

        await until(admin, "select count(*) from runs where ended_at is not null", 1)
        await until(admin, "select count(*) from dead_letters", 1)
        await slack.wait_for(1)
        await until(admin, "select count(*) from alert_outbox where state = 'sent'", 1)
        stop.set()
        await alerting

    assert await admin.fetchval("select outcome from alert_deliveries") == "accepted"
    assert await admin.fetchval("select count(*) from lineage_edges") == 1
    await admin.close()


def settings_of(dsn: str, slack: FakeSlack) -> NotifierSettings:
    return NotifierSettings(
        postgres_dsn=SecretStr(dsn), slack_webhook_url=SecretStr(slack.url), slack_allow_insecure=True,
        group_wait_seconds=0, poll_seconds=0.02,
    )  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "create table mine (x integer)",
        "create schema mine",
        "create table reporting.mine (x integer)",
        "alter table runs add column mine integer",
        "drop table runs",
        "truncate runs",
        "delete from pipelines",
        "delete from pipeline_versions",
        "delete from pipeline_types",
        "delete from datasets",
        "delete from watermarks",
        "delete from ingestion",
        "delete from sink_offsets",
        "delete from retention",
        "update alert_outbox set state = 'sent'",
        "insert into alert_deliveries (alert_id, channel, outcome) values (1, 'x', 'accepted')",
        "update alert_deliveries set outcome = 'accepted'",
        "insert into alert_messages (channel, channel_id, ts) values ('x', 'x', 'x')",
        "update alert_messages set ts = 'x'",
        "update alert_storms set ended_at = null",
        "update watermark_history set watermark = 'x'",
        "update commands set given_by = 'me'",
        "update incident_events set record = '{}'",
        "update alembic_version set version_num = '0001'",
        "create role mine",
        "copy runs to program 'true'",
        "select pg_read_file('/etc/passwd')",
        "set role watchline_notifier",
    ],
)
async def test_the_writer_may_not(statement: str, writer: str) -> None:
    with refused():
        await execute(writer, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "select * from runs",
        "update runs set anomalous = false",
        "delete from runs",
        "delete from run_ancestry",
        "select * from dead_letters",
        "update sink_offsets set next_offset = 0",
        "update pipelines set owner = 'me'",
        "delete from alert_outbox",
        "truncate alert_outbox",
        "delete from alert_messages",
        "delete from incidents",
        "delete from incident_events",
        "update incident_events set record = '{}'",
        "update ingestion set pulse_at = now()",
        "insert into ingestion_hours values (now(), 1)",
        "select * from alert_deliveries",
        "delete from alert_deliveries",
        "select * from reporting.runs",
        "create table mine (x integer)",
        "create role mine",
        "copy alert_outbox to program 'true'",
    ],
)
async def test_the_notifier_may_not(statement: str, told: str) -> None:
    with refused():
        await execute(told, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "insert into reporting.dead_letters (reason) values ('x')",
        "insert into public.runs (run_id) values (gen_random_uuid())",
        "update reporting.dead_letters set reason = 'x'",
        "delete from reporting.incidents",
        "create table reporting.mine (x integer)",
        "create table public.mine (x integer)",
        "create view reporting.mine as select 1",
        "drop view reporting.runs",
        "comment on view reporting.runs is 'x'",
        "select pg_read_file('/etc/passwd')",
        "copy (select 1) to program 'true'",
        "copy (select 1) to '/nowhere/mine'",
        "select lo_import('/etc/passwd')",
        "set role watchline_writer",
        "alter role watchline_reader login",
    ],
)
async def test_the_reader_may_not(statement: str, reader: str) -> None:
    with refused():
        await execute(reader, "set default_transaction_read_only = off", statement)


async def test_the_reader_reads_every_view_and_no_table(database: str, reader: str) -> None:
    for (view,) in await rows(database, VIEWS_OF):
        await execute(reader, f'select * from reporting."{view}"')

    for (table,) in await rows(database, TABLES_OF):
        with refused():
            await execute(reader, f'select * from public."{table}"')


async def test_a_view_that_comes_later_is_readable(database: str, reader: str) -> None:
    await execute(database, "create view reporting.later as select count(*) from runs")

    assert await value(reader, "select * from reporting.later") == 0


async def test_the_limits_of_the_reader_hold_for_whoever_logs_in_as_it_and_not_for_members(
    database: str, reader: str
) -> None:
    settings = await rows(database, "select unnest(rolconfig) from pg_roles where rolname = $1", READER)

    assert ("statement_timeout=30s",) in settings
    assert ("search_path=reporting",) in settings
    assert await value(database, "select rolconnlimit from pg_roles where rolname = $1", READER) == 20
    assert await value(reader, "show statement_timeout") == "0"  # why docs/production.md gives each login its own


async def test_a_login_as_the_page_shows_it_is_stopped_and_counted(database: str) -> None:
    async with login(database, READER, "connection limit 2") as dsn:
        name = dsn.split("//")[1].split(":")[0]
        await execute(database, f"alter role {name} set statement_timeout = '200ms'")
        first, second = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
        try:
            with refused("53300"):
                await asyncpg.connect(dsn)
            with refused("57014"):
                await first.fetch("select pg_sleep(60)")
        finally:
            await first.close()
            await second.close()


async def test_every_table_is_given_to_somebody_or_kept_on_purpose(database: str) -> None:
    """A table that a migration adds has to be added to `watchline.consumers.roles.TABLES` too."""
    existing = {table for (table,) in await rows(database, TABLES_OF)}

    assert existing == {table for granted in TABLES.values() for table in granted}


async def test_no_role_can_log_in_own_anything_or_hand_its_rights_on(database: str) -> None:
    flags = "rolcanlogin or rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls"
    found = await rows(database, f"select rolname, {flags} from pg_roles where rolname = any($1)", list(ROLES))
    owned = await value(
        database, "select count(*) from pg_class where pg_get_userbyid(relowner) = any($1)", list(ROLES)
    )
    handed_on = await value(
        database,
        "select count(*) from information_schema.table_privileges where grantee = any($1) and is_grantable = 'YES'",
        list(ROLES),
    )

    assert sorted(found) == sorted((role, False) for role in ROLES)
    assert (owned, handed_on) == (0, 0)
