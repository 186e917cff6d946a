"""docs/tables.md names what the database has."""

from __future__ import annotations

import re

from brokers.apache import REPOSITORY
from stack.contents import rows

TEXT = (REPOSITORY / "docs" / "tables.md").read_text()
# Views of the tables' schema are steps on the way to those of `reporting`; the prose names them.
COLUMNS = """
select table_name, column_name from information_schema.columns
where table_schema = $1 and table_name <> 'alembic_version'
    and ($1 = 'reporting'
        or table_name not in (select table_name from information_schema.views where table_schema = $1))
"""
NAME = re.compile(r"`(\w+)`")


def sections() -> dict[str, str]:
    """What is said of each table, by its name."""
    parts = re.split(r"^\*\*`(\w+)`\*\*", re.sub(r"^#+ .*$", "", TEXT, flags=re.MULTILINE), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def columns_in(section: str) -> set[str]:
    """The names in the first column of its table."""
    first = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    return {name for cell in first for name in NAME.findall(cell)}


async def test_every_table_is_described_with_every_column_of_it(database: str) -> None:
    described = sections()

    missing = [
        f"{table}.{column}" for table, column in await rows(database, COLUMNS, "public")
        if column not in NAME.findall(described.get(table, ""))
    ]  # fmt: skip

    assert missing == []


async def test_no_column_is_described_that_does_not_exist(database: str) -> None:
    existing = {tuple(row) for row in await rows(database, COLUMNS, "public")}

    described = {(table, column) for table, section in sections().items() for column in columns_in(section)}

    assert described - existing == set()


async def test_every_view_is_listed_with_exactly_its_columns(database: str) -> None:
    existing: dict[str, list[str]] = {}
    for view, column in await rows(database, COLUMNS + "order by ordinal_position", "reporting"):
        existing.setdefault(view, []).append(column)

    views = TEXT[: TEXT.index("\n## Tables")]
    listed = {
        view: NAME.findall(cell) for view, cell in re.findall(r"^\| `(\w+)` \|.*\| (.+) \|$", views, re.MULTILINE)
    }

    assert listed == existing
