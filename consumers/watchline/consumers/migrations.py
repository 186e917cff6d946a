"""Bringing the database's tables up to this version."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import structlog
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from watchline.consumers import locks
from watchline.consumers.database import connect
from watchline.consumers.roles import bring_roles
from watchline.schemas.errors import Misconfigured
from watchline.schemas.failpoints import failpoint

log = structlog.get_logger(__name__)

LOCK_TIMEOUT = "30s"  # rather fail than queue behind a long query and block every writer behind us
HERE = Path(__file__).resolve()
PLACES = (HERE.parent / "migrations_data", HERE.parents[3] / "migrations")  # installed; checkout


async def migrate(dsn: str, *, to: str = "head") -> list[str]:
    """Apply the missing revisions, up to `to`, in one transaction and return them; concurrent calls wait in line.

    The roles get their rights each time: a dump restored on another server has lost them. Raises Misconfigured when
    the database refuses us, Unavailable when it does not answer.
    """

    async def open_connection() -> asyncpg.Connection:
        return await connect(dsn, application="watchline-migrate")

    engine = create_async_engine("postgresql+asyncpg://", async_creator=open_connection, poolclass=NullPool)
    try:
        async with engine.begin() as connection:
            await connection.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": locks.MIGRATIONS})
            await connection.execute(text(f"set local lock_timeout = '{LOCK_TIMEOUT}'"))
            applied = await connection.run_sync(upgrade, to)
            raw = await connection.get_raw_connection()
            assert raw.driver_connection is not None
            missing = await bring_roles(raw.driver_connection)
            failpoint("M1")  # all steps or none
    finally:
        await engine.dispose()
    log.info("database.migrated", applied=applied, missing_roles=missing)
    return applied


def upgrade(connection: Connection, to: str) -> list[str]:
    """Run alembic on a connection that already holds the lock."""
    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    applied: list[str] = []
    config.attributes.update(connection=connection, applied=applied)
    command.upgrade(config, to)
    return applied


def scripts() -> Path:
    """The folder of the migrations, in an installed package or in a checkout."""
    for place in PLACES:
        if (place / "env.py").is_file():
            return place
    raise Misconfigured("the migrations are missing from this installation", hint="install watchline again")
