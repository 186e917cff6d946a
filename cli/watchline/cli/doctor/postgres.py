"""The checks that ask Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import asyncpg
from alembic.script import ScriptDirectory

from watchline.cli.doctor.check import (
    Check,
    failure,
    judge_alerts,
    judge_clock,
    judge_ingestion,
    judge_permission,
    judge_schema,
)
from watchline.cli.reach import describe_dsn, postgres
from watchline.consumers.migrations import scripts
from watchline.consumers.roles import NOTIFIER, TABLES, WRITER
from watchline.consumers.watch.health import Patience, all_fresh, causes_of
from watchline.consumers.watch.observation import observe
from watchline.schemas.errors import WatchlineError

HAS_SCHEMA = "select to_regclass('public.alembic_version') is not null"
REVISION = "select version_num from public.alembic_version"
REFUSED = """
    select right_on.name || ' on ' || right_on.relname as refused
    from unnest($1::text[], $2::text[]) as right_on (relname, name)
    where not has_table_privilege(to_regclass('public.' || right_on.relname), right_on.name)
    order by 1
"""
ALERTS = """
    select count(*) filter (where state = 'pending') as pending, count(*) filter (where state = 'failed') as failed,
        count(*) filter (where state = 'held') as held
    from public.alert_outbox
"""


async def check_postgres(dsn: str, patience: Patience) -> AsyncIterator[Check]:
    """Server, clock, schema, permission, alerts and ingestion; the later ones only if the earlier ones allow."""
    try:
        async with postgres(dsn) as connection:
            version = await connection.fetchval("show server_version")
            yield Check("Postgres", "ok", f"version {version} at {describe_dsn(dsn)}")
            yield judge_clock(await _skew(connection))
            schema = judge_schema(await _revision(connection), _newest())
            yield schema
            if schema.outcome == "ok":
                user = await connection.fetchval("select current_user")
                refused = {role: await _refused(connection, TABLES[role]) for role in (WRITER, NOTIFIER)}
                yield judge_permission(user, refused)
                row = await connection.fetchrow(ALERTS)
                assert row is not None
                yield judge_alerts(row["pending"], row["failed"], row["held"])
                seen = await observe(connection)
                causes = causes_of(seen.readings, seen.hours, seen.now, patience)
                yield judge_ingestion(causes, all_fresh(seen.readings, seen.now, patience), len(seen.readings))
    except WatchlineError as error:
        yield failure("Postgres", error)
    except asyncpg.PostgresError as error:
        yield Check("Postgres", "fail", str(error))


async def _refused(connection: asyncpg.Connection[Any], tables: Mapping[str, str]) -> list[str]:
    """What of the rights in `tables` the current user lacks."""
    rights = [(table, privilege) for table, privileges in tables.items() for privilege in privileges.split(", ")]
    rows = await connection.fetch(REFUSED, *zip(*rights, strict=True))
    return [row["refused"] for row in rows]


async def _skew(connection: asyncpg.Connection[Any]) -> float:
    before = datetime.now(UTC)
    theirs = await connection.fetchval("select clock_timestamp()")
    ours = before + (datetime.now(UTC) - before) / 2
    return float((theirs - ours).total_seconds())


async def _revision(connection: asyncpg.Connection[Any]) -> str | None:
    if not await connection.fetchval(HAS_SCHEMA):
        return None
    revision = await connection.fetchval(REVISION)
    return None if revision is None else str(revision)


def _newest() -> str:
    newest = ScriptDirectory(str(scripts())).get_current_head()
    assert newest is not None
    return newest
