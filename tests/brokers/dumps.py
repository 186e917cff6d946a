"""Dumps of a database, by the programs that come with the embedded Postgres."""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import PIPE
from pathlib import Path
from urllib.parse import urlsplit

from watchline.cli.local.postgres import NEWEST, programs


async def dump_schema(dsn: str) -> str:
    """Everything but the rows as SQL: tables, views, indexes, constraints, comments, grants."""
    text = await call("pg_dump", dsn, "--schema-only")
    random = ("\\restrict ", "\\unrestrict ")  # a key of each dump's own
    return "\n".join(line for line in text.splitlines() if not line.startswith(random))


async def dump(dsn: str, file: Path) -> None:
    """The whole database, as it is at this moment."""
    await call("pg_dump", dsn, "--format=custom", f"--file={file}")


async def restore(dsn: str, file: Path) -> None:
    """Put a dump into the empty database `dsn`."""
    await call("pg_restore", dsn, "--exit-on-error", str(file))


async def call(program: str, dsn: str, *arguments: str) -> str:
    parts = urlsplit(dsn)
    process = await asyncio.create_subprocess_exec(
        programs(NEWEST) / program,
        *arguments,
        f"--dbname={parts.path.lstrip('/')}",
        env={
            **os.environ, "PGHOST": str(parts.hostname), "PGPORT": str(parts.port or 5432),
            "PGUSER": str(parts.username), "PGPASSWORD": str(parts.password),
        },
        stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    said, complained = await process.communicate()
    assert process.returncode == 0, complained.decode()
    return said.decode()
