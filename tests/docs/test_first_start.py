"""From the first command of the guides to the first row and the last query, as written."""

from __future__ import annotations

import asyncio
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from brokers.databases import Postgres, create_database, drop_database
from brokers.kinds import Broker
from brokers.topics import delete_topics
from docs.blocks import Block, block_with, read_blocks
from docs.installation import Installation, install, make_program
from docs.register import GUIDE, QUESTIONS, runner_of
from stack.contents import rows

SETUP = block_with("docs/production.md", "pip install 'watchline[server]'")
SHELL_JOB = block_with("docs/sdk.md", "watchline exec")
PYTHON = [block for block in read_blocks() if block.language == "python" and runner_of(block) != GUIDE]
SQL = [block for block in read_blocks() if block.language == "sql" and block.document != QUESTIONS]
LOGINS = [block for block in SQL if block.text.startswith("create role ")]
QUERIES = [block for block in SQL if block not in LOGINS]
ARRIVAL_SECONDS = 30.0

# What a reader has to have before a snippet makes sense.
BEFORE = {"README.md": "def load(since):\n    return [1, 2, 3]\n"}

# Enough of everything for each query to find something: a metric and a label, one odd run, one that fails.
HISTORY = """
from watchline.sdk import Pipeline, Watchline

stock = Watchline().pipeline(Pipeline(name="stock_daily", type="extraction", owner="sales"))
for rows in [1000] * 12 + [3]:
    with stock.run(labels={"region": "eu"}) as run:
        run.add(inserts=rows, total_rows=rows)
        run.metric("null_share", 0.01)
        run.advance("2026-11-30")
with stock.run():
    raise RuntimeError("the source is gone")
"""
HISTORY_RUNS = 14


@pytest.fixture(scope="module")
def installation(
    broker: Broker, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    name = f"t_{uuid4().hex[:12]}"
    dsn = asyncio.run(create_database(postgres, name))
    secret = folder / "dsn"
    secret.write_text(f"{dsn}\n")
    stand_ins = {
        "kafka-1:9092,kafka-2:9092": broker.bootstrap_servers,
        "/run/secrets/watchline_dsn": str(secret),
        "3": "1",  # the broker of the tests stands alone
    }
    try:
        with install(SETUP, folder, dsn, stand_ins) as made:
            yield made
        asyncio.run(delete_topics(broker.bootstrap_servers, [spec.name for spec in made.topics.specs()]))
    finally:
        asyncio.run(drop_database(postgres, name))


@pytest.fixture(scope="module")
def history(installation: Installation) -> None:
    done = installation.run(*python(HISTORY))
    assert "RuntimeError: the source is gone" in done.stderr
    wait_for_runs(installation, "pipeline = 'stock_daily'", HISTORY_RUNS)
    wait_for_rows(installation, "select kind from incidents where status = 'open' and pipeline = 'stock_daily'", 2)
    wait_for_rows(installation, "select metric from anomalies where pipeline = 'stock_daily'", 1)


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-W", "error", "-c", textwrap.dedent(code))


def wait_for_runs(installation: Installation, condition: str, least: int) -> list[tuple[Any, ...]]:
    """The ended runs of `condition` once there are as many; the newest first."""
    query = f"select status, inserts, owner from reporting.runs where {condition} and ended_at is not null"
    return wait_for_rows(installation, f"{query} order by ended_at desc", least)


def wait_for_rows(installation: Installation, query: str, least: int) -> list[tuple[Any, ...]]:
    deadline = time.monotonic() + ARRIVAL_SECONDS
    while len(found := asyncio.run(rows(installation.dsn, query))) < least:
        assert time.monotonic() < deadline, f"{len(found)} rows instead of {least}: {query}"
        time.sleep(0.1)
    return found


def test_every_command_of_the_first_start_does_its_work(installation: Installation) -> None:
    codes = {command: code for command, code in installation.codes.items() if code is not None}
    shown = installation.shown["watchline doctor"]

    assert set(codes.values()) == {0}, installation.shown
    assert {command for command in SETUP.commands if command.startswith("watchline ")} == set(installation.codes)
    assert installation.topics.runs in installation.shown["watchline topics create"]
    assert "fail" not in {line.split()[0] for line in shown.splitlines() if line.strip()}, shown


def test_the_shell_job_of_the_guide_is_stored(installation: Installation) -> None:
    make_program(installation.folder, "load.sh", 'test "$1" = --full')

    done = installation.run("sh", "-eu", "-c", SHELL_JOB.text)

    assert (done.returncode, done.stderr) == (0, "")
    emitted = wait_for_runs(installation, "pipeline = 'orders_daily' and inserts = 5", 1)
    assert emitted == [("succeeded", 5, "sales")]


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.place)
def test_a_python_block_runs_and_its_run_is_stored(installation: Installation, block: Block) -> None:
    before = len(wait_for_runs(installation, "inserts = 3 and total_rows = 3", 0))

    done = installation.run(*python(BEFORE.get(block.document, "") + block.text))

    assert (done.returncode, done.stderr) == (0, "")
    wait_for_runs(installation, "inserts = 3 and total_rows = 3", before + 1)


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize("block", QUERIES, ids=lambda block: block.place)
async def test_a_query_finds_something(installation: Installation, block: Block) -> None:
    for statement in statements_of(block):
        assert await rows(installation.dsn, statement), statement


@pytest.mark.usefixtures("history")
async def test_the_logins_of_the_pages_may_do_what_is_said_and_nothing_else(installation: Installation) -> None:
    connection = await asyncpg.connect(installation.dsn)
    transaction = connection.transaction()
    await transaction.start()  # roles belong to the whole server, so nothing of it may stay
    try:
        for block in LOGINS:
            await connection.execute(block.text)
        await connection.execute("set local role anna")
        for statement in [text for block in QUERIES for text in statements_of(block) if "reporting." in text]:
            assert await connection.fetch(statement), statement
        await connection.execute("set local role watchline_sink")
        assert await connection.fetch("select * from public.runs")
        await connection.execute("set local role watchline_notify")
        assert await connection.fetch("select * from public.alert_outbox")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("select * from public.runs")
    finally:
        await transaction.rollback()
        await connection.close()


def statements_of(block: Block) -> Sequence[str]:
    """The statements of an SQL block, which end at a semicolon at the end of a line."""
    return [text for text in block.text.split(";\n") if text.strip()]


def test_there_is_a_query_for_everyday_questions() -> None:
    assert sum(len(statements_of(block)) for block in QUERIES if block.document == "docs/tables.md") >= 5
