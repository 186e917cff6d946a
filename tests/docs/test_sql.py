"""The twenty questions and the dashboard, asked of the demo's data by somebody who may only read the views."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from brokers.apache import REPOSITORY
from brokers.databases import Postgres, create_database, drop_database
from docs.answers import PAGE, answer, questions
from docs.demo_data import fill

ASKED = questions(PAGE.read_text())
DASHBOARD = REPOSITORY / "docs" / "dashboards" / "grafana.json"
# What Grafana puts in: a span of years, and the choice of everything or of one.
MACROS = {
    r"\$__timeFilter\((\w+)\)": r"\1 between '2020-01-01' and '2027-01-01'",
    r"\$__timeFrom\(\)": "'2020-01-01'",
}


@pytest.fixture(scope="module")
def demonstrated(postgres: Postgres, template_database: str) -> Iterator[str]:
    name = f"t_{uuid4().hex[:12]}"
    dsn = asyncio.run(create_database(postgres, name, template=template_database))
    try:
        asyncio.run(fill(dsn))
        yield dsn
    finally:
        asyncio.run(drop_database(postgres, name))


@pytest.fixture
async def reader(demonstrated: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(demonstrated)
    await connection.execute("set role watchline_reader")
    yield connection
    await connection.close()


def test_there_are_twenty_questions_and_each_has_an_answer() -> None:
    assert len(ASKED) == 20
    assert [query for query, printed in ASKED if printed is None or printed.count("\n") < 3] == []


@pytest.mark.parametrize("number", range(len(ASKED)))
async def test_a_question_is_answered_as_printed(reader: asyncpg.Connection[Any], number: int) -> None:
    query, printed = ASKED[number]

    for zone in ("UTC", "Asia/Tokyo", "Pacific/Kiritimati", "America/Los_Angeles"):
        await reader.execute(f"set timezone to '{zone}'")
        assert await answer(reader, query) == printed, zone


def statements() -> Iterator[tuple[str, str]]:
    """What the dashboard asks, by title of the panel or name of the variable."""
    dashboard = json.loads(DASHBOARD.read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["rawSql"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]


@pytest.mark.parametrize("chosen", ["'all'", "'it''s one'"])
@pytest.mark.parametrize(("title", "sql"), list(statements()))
async def test_the_dashboard_asks_what_the_views_answer(
    reader: asyncpg.Connection[Any], title: str, sql: str, chosen: str
) -> None:
    for macro, meaning in MACROS.items():
        sql = re.sub(macro, meaning, sql)
    sql = re.sub(r"\$\{\w+:sqlstring\}", chosen, sql)

    assert "$" not in sql, title
    await reader.fetch(sql)
