"""The answers that docs/sql.md prints under its queries: checked by a test, and written anew by this program.

PYTHONPATH=tests .venv/bin/python -m docs.answers
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg

from brokers.apache import REPOSITORY
from brokers.databases import open_postgres
from docs.demo_data import fill
from watchline.consumers.migrations import migrate

PAGE = REPOSITORY / "docs" / "sql.md"
# A query and, when it has been written, its answer.
ASKED = re.compile(r"^```sql\n(?P<query>.*?)^```\n(?:\n```text\n(?P<answer>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def questions(page: str) -> list[tuple[str, str | None]]:
    """Each query of a page with its printed answer."""
    return [(found["query"], found["answer"]) for found in ASKED.finditer(page)]


async def answer(connection: asyncpg.Connection[Any], query: str) -> str:
    """What a query finds, as it is printed."""
    statement = await connection.prepare(query)
    names = [attribute.name for attribute in statement.get_attributes()]
    return printed(names, [tuple(row) for row in await statement.fetch()])


def printed(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> str:
    """A table in plain text, numbers to the right."""
    table = [list(names), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(names))]
    right = [any(isinstance(row[column], int | float | Decimal) for row in rows) for column in range(len(names))]
    lines = [
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in table
    ]
    return "".join(f"{line}\n" for line in (lines[0], "  ".join("-" * width for width in widths), *lines[1:]))


def cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, date | int | Decimal | str):
        return str(value)
    assert value is None, type(value)
    return "-"


async def answered(dsn: str, page: str) -> str:
    """The page with every answer as the database gives it now."""
    connection = await asyncpg.connect(dsn)
    try:
        parts = [part async for part in _parts(connection, page)]
    finally:
        await connection.close()
    return "".join(parts)


async def _parts(connection: asyncpg.Connection[Any], page: str) -> AsyncIterator[str]:
    done = 0
    for found in ASKED.finditer(page):
        yield page[done : found.start()]
        yield f"```sql\n{found['query']}```\n\n```text\n{await answer(connection, found['query'])}```\n"
        done = found.end()
    yield page[done:]


def main() -> None:
    """Write the page anew."""
    with tempfile.TemporaryDirectory() as folder, open_postgres("embedded", Path(folder)) as postgres:
        asyncio.run(_rewrite(postgres.dsn))


async def _rewrite(dsn: str) -> None:
    await migrate(dsn)
    await fill(dsn)
    PAGE.write_text(await answered(dsn, PAGE.read_text()))


if __name__ == "__main__":
    main()
