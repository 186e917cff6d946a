"""The roles of the database and what each may do: none of them owns a table, and each gets what its statements need.

They are groups without a login: people and services log in as members. Roles belong to the whole server, so another
database of it may have made them already, or may be making them now.
"""

from __future__ import annotations

from collections.abc import Iterable

import asyncpg

WRITER, NOTIFIER, READER = "watchline_writer", "watchline_notifier", "watchline_reader"
ROLES = (WRITER, NOTIFIER, READER)

# What the statements of each service need of each table in `public`. Whoever adds a table adds it here. The writer also
# prunes: it may delete what grows old and nothing else.
TABLES: dict[str, dict[str, str]] = {
    WRITER: {
        "pipelines": "select, insert, update",
        "pipeline_versions": "select, insert, update",
        "pipeline_types": "select, insert, update",
        "datasets": "select, insert, update",
        "lineage_edges": "select, insert, delete",
        "runs": "select, insert, update, delete",
        "run_attempts": "select, insert, update, delete",
        "run_ancestry": "select, insert, delete",
        "pipeline_days": "select, insert, update, delete",
        "pipeline_weeks": "select, insert, update, delete",
        "stale_days": "select, delete",  # the marks are made by triggers, for whoever writes
        "watermarks": "select, insert, update",
        "watermark_history": "select, insert, delete",
        "anomalies": "select, insert, update, delete",
        "expected_runs": "select, insert, update, delete",
        "incidents": "select, insert, update, delete",
        "incident_events": "select, insert, delete",
        "alert_outbox": "select, insert, delete",
        "alert_deliveries": "select, delete",
        "alert_messages": "select, delete",
        "alert_storms": "select, delete",
        "dead_letters": "select, insert, update, delete",  # update: `watchline dead-letters redrive` and `discard`
        "commands": "select, insert, delete",
        "anomaly_feedback": "select, insert, update, delete",
        "ingestion": "select, insert, update",
        "ingestion_hours": "select, insert, update, delete",
        "sink_offsets": "select, insert, update",
        "retention": "select, insert, update",
        "alembic_version": "select",  # `watchline doctor`
    },
    NOTIFIER: {
        "alert_outbox": "select, insert, update",  # insert: changes that call nobody, for posts that can be edited
        "alert_deliveries": "insert",
        "alert_messages": "select, insert, update",
        "alert_storms": "select, insert, update",
        "incidents": "select, insert, update",  # the one about ingestion; who takes care of one is not reminded
        "incident_events": "select, insert",
        "pipelines": "select",
        "ingestion": "select",
        "ingestion_hours": "select",
        "sink_offsets": "select",
        "run_ancestry": "select",
        "alembic_version": "select",
    },
    READER: {},  # only the views
}
# These hold for whoever logs in as the role itself; Postgres passes no settings on to members.
READER_SETTINGS = {
    "statement_timeout": "'30s'",
    "idle_in_transaction_session_timeout": "'60s'",
    "search_path": "reporting",
    "default_transaction_read_only": "on",  # a convenience: a session may switch it off, the grants are what holds
}
READER_CONNECTIONS = 20

FOUND = "select rolname from pg_roles where rolname = any($1)"
EXISTING = "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')"
REPORTING = "select exists (select from pg_namespace where nspname = 'reporting')"
OWNER = "select quote_ident(current_user) as owner, quote_ident(current_database()) as database"


async def missing_roles(connection: asyncpg.Connection) -> list[str]:
    """Those of ROLES that this server does not have."""
    found = {row["rolname"] for row in await connection.fetch(FOUND, list(ROLES))}
    return [role for role in ROLES if role not in found]


async def bring_roles(connection: asyncpg.Connection) -> list[str]:
    """Create the roles that are missing, grant all of them what they need, and return those that we may not create.

    Safe to repeat, and beside other databases of the server that do the same. Nobody loses a right by it.
    """
    for role in await missing_roles(connection):
        await connection.execute(creation(role))
    missing = await missing_roles(connection)
    for statement in await grants(connection, [role for role in ROLES if role not in missing]):
        await connection.execute(statement)
    return missing


async def administrators_sql(connection: asyncpg.Connection) -> str:
    """The same as a script for somebody who may create roles; it names the database and the owner of the tables."""
    statements = [*map(creation, ROLES), *await grants(connection, ROLES)]
    row = await connection.fetchrow(OWNER)
    assert row is not None
    head = f"-- The roles of Watchline. Run it in the database {row['database']}, as a user who may create roles\n"
    head += f"-- and is a superuser or a member of {row['owner']}.\n"
    return head + "".join(f"{statement.strip()};\n" for statement in statements)


def creation(role: str) -> str:
    """Make one role; nothing happens when it exists, is being made elsewhere, or we may not."""
    settings = [f"alter role {role} set {name} = {value};" for name, value in READER_SETTINGS.items()]
    limited = [f"alter role {role} connection limit {READER_CONNECTIONS};", *settings] if role == READER else []
    return permitted("\n    ".join([f"create role {role} nologin;", *limited]), "duplicate_object or unique_violation")


async def grants(connection: asyncpg.Connection, roles: Iterable[str]) -> list[str]:
    """The statements that give `roles` their rights in this database, on the tables that it has."""
    row = await connection.fetchrow(OWNER)
    assert row is not None
    tables = {one["relname"] for one in await connection.fetch(EXISTING)}
    statements = [permitted("revoke create on schema public from public;")]  # Postgres 14, and what came from it
    for role in roles:
        statements.append(permitted(f"grant connect on database {row['database']} to {role};"))
        if role == WRITER:  # stages runs in a table of its session
            statements.append(permitted(f"grant temporary on database {row['database']} to {role};"))
        if role == READER:
            statements += reading(row["owner"]) if await connection.fetchval(REPORTING) else []
        else:
            statements.append(permitted(f"grant usage on schema public to {role};"))
        for table, privileges in TABLES[role].items():
            if table in tables:
                statements.append(permitted(f"grant {privileges} on public.{table} to {role};"))
    return statements


def reading(owner: str) -> list[str]:
    """The views, those of today and those that `owner` makes later."""
    return [
        permitted(f"grant usage on schema reporting to {READER};"),
        permitted(f"grant select on all tables in schema reporting to {READER};"),
        permitted(f"alter default privileges for role {owner} in schema reporting grant select on tables to {READER};"),
    ]


def permitted(statements: str, also: str = "") -> str:
    """Do it unless we may not, or `also`.

    A role can wait for an administrator, what is not ours is for its owner to grant, and `watchline doctor` tells.
    """
    conditions = " or ".join(filter(None, (also, "insufficient_privilege")))
    return f"do $$ begin\n    {statements}\nexception when {conditions} then null; end $$"
