"""`watchline prune`."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from aging.passes import Passes
from aging.stories import fresh, run_at
from letters.letters import Result
from security.logins import login
from sinking.tables import Sinking
from stack.contents import value
from stack.waiting import until
from watchline.cli.main import run
from watchline.consumers.retention.session import begin, is_alone, session
from watchline.consumers.roles import READER, WRITER
from watchline.schemas.records import RunRecord

NOW = datetime.now(UTC)  # that of the command
DAY = timedelta(days=1)
ORPHANS = "select count(*) from run_ancestry a where not exists (select from runs r where r.run_id = a.descendant)"
Call = Callable[..., Result]


@pytest.fixture
def call(database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run `watchline prune …` in this process."""
    monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", database)
    monkeypatch.setenv("COLUMNS", "80")

    def call(*arguments: str, typed: str = "") -> Result:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        capsys.readouterr()
        code = run(["prune", *arguments])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return call


@pytest.fixture
def old_runs(database: str) -> list[RunRecord]:
    """Three runs that are older than 400 days, one of 200 and one of today."""
    found = [run_at(NOW - days * DAY, f"{days} days") for days in (500, 450, 410, 200)]
    store(database, *found, *fresh(NOW))
    return found


def store(dsn: str, *records: Any) -> None:
    async def put() -> None:
        async with stored(dsn) as passes:
            await passes.sinking.store(*records)

    asyncio.run(put())


@asynccontextmanager
async def stored(dsn: str) -> AsyncIterator[Passes]:
    connection = await asyncpg.connect(dsn)
    sinking = Sinking(dsn, connection)
    await sinking.join()
    yield Passes(dsn, sinking)
    await sinking.writer.close()
    await connection.close()


def runs_in(dsn: str) -> int:
    return int(asyncio.run(value(dsn, "select count(*) from runs")))


def counted(printed: str) -> dict[str, int]:
    """The tables of which rows are counted, by the lines of the table."""
    lines = (line.split() for line in printed.splitlines()[1:])
    return {line[0]: int(line[-1].replace(",", "")) for line in lines if line[-1] != "0"}


def test_a_dry_run_prints_what_would_go_and_does_nothing(call: Call, old_runs: list[RunRecord], database: str) -> None:
    result = call("--dry-run")

    assert result.code == 0
    assert counted(result.out) == {"runs": 3}
    assert f"runs               {NOW - 400 * DAY:%Y-%m-%d}       400         3" in result.out
    assert all(len(line) <= 80 for line in result.out.splitlines())
    assert "nothing was done" in result.err
    assert runs_in(database) == 5


def test_it_asks_with_the_numbers_and_does_nothing_without_a_yes(
    call: Call, old_runs: list[RunRecord], database: str
) -> None:
    for typed in ("", "n\n"):
        result = call(typed=typed)

        assert result.code == 1
        assert "Delete 3 rows for good?" in result.err
        assert counted(result.err.partition("Delete")[0]) == {"runs": 3}
        assert runs_in(database) == 5
    assert call(typed="y\n").code == 0
    assert runs_in(database) == 2


def test_it_deletes_and_prints_what_went(call: Call, old_runs: list[RunRecord], database: str) -> None:
    result = call("--yes")

    assert (result.code, counted(result.out), result.err) == (0, {"runs": 3}, "")
    assert runs_in(database) == 2
    assert counted(call("--yes").out) == {}


def test_days_hold_for_the_tables_that_are_named(call: Call, old_runs: list[RunRecord], database: str) -> None:
    planned = call("--table", "runs", "--table", "commands", "--days", "100", "--dry-run")

    assert counted(planned.out) == {"runs": 4}
    assert re.findall(r"^(\w+) +\S+ +(\d+)", planned.out, re.MULTILINE) == [
        ("runs", "100"), ("run_ancestry", "100"), ("run_attempts", "100"), ("commands", "100"),
    ]  # fmt: skip
    assert call("--table", "commands", "--yes").code == 0
    assert runs_in(database) == 5


def test_the_days_of_the_environment_hold(
    call: Call, old_runs: list[RunRecord], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHLINE_KEEP_RUNS_DAYS", "430")
    assert counted(call("--dry-run").out) == {"runs": 2}

    monkeypatch.setenv("WATCHLINE_KEEP_RUNS_DAYS", "0")
    result = call("--dry-run")
    assert result.code == 2
    assert "WATCHLINE_KEEP_RUNS_DAYS is wrong" in result.err


@pytest.mark.parametrize("arguments", [["--days", "5"], ["--table", "pipelines"], ["--table", "runs", "--days", "0"]])
def test_what_makes_no_sense_is_refused(arguments: list[str], call: Call) -> None:
    assert call(*arguments, "--yes").code == 2


async def test_two_at_once_are_one(call: Call, database: str) -> None:
    async with session(database) as connection:
        await begin(connection)
        assert await is_alone(connection)

        result = await asyncio.to_thread(call, "--yes")

    assert result.code == 1
    assert "somebody else prunes" in result.err


async def test_rows_in_use_are_left_and_said(call: Call, database: str) -> None:
    async with stored(database) as passes:
        await passes.sinking.store(*fresh(NOW), run_at(NOW - 500 * DAY, "old"))
        async with passes.looking.transaction():
            await passes.looking.execute("lock table run_attempts in access exclusive mode")

            result = await asyncio.to_thread(call, "--yes")

    assert result.code == 1
    assert "rows of runs are in use" in result.err
    assert await value(database, "select count(*) from runs") == 2


async def test_the_reader_may_not_and_is_told_what_it_takes(
    call: Call, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with login(database, READER) as dsn:
        monkeypatch.setenv("WATCHLINE_POSTGRES_DSN", dsn)
        result = await asyncio.to_thread(call, "--dry-run")

    assert result.code == 2
    assert "watchline_writer" in result.err


async def test_a_pass_that_is_killed_leaves_whole_runs_and_the_next_one_finishes(database: str) -> None:
    """It is killed while it waits in the middle for a row of the ancestry that somebody holds."""
    names = [f"pipeline {n:03}" for n in range(120)]
    async with login(database, WRITER) as dsn, stored(database) as passes:
        old = [
            run_at(NOW - 500 * DAY, f"{name} {n}", pipeline=name, parent_run_id=fresh(NOW, names[0])[0].run_id)
            for name in names
            for n in range(3)
        ]
        await passes.sinking.store(*fresh(NOW, *names), *old)
        async with passes.looking.transaction():
            await passes.looking.execute("delete from run_ancestry where descendant = $1", old[-40].run_id)
            program = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "watchline.cli", "prune", "--yes",
                env={"WATCHLINE_POSTGRES_DSN": dsn}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            try:
                await until("some are gone", lambda: value(database, "select count(*) < 400 from runs"))
            finally:
                program.kill()
                await program.wait()
            remaining = await value(database, "select count(*) from runs where started_at < $1", NOW - 400 * DAY)

        assert 0 < remaining < len(old)
        assert await value(database, ORPHANS) == 0
        plan = Passes(dsn, passes.sinking, now=NOW)
        assert (await plan.count())["runs"] == remaining
        await plan.prune()

    assert await value(database, "select count(*) from runs") == len(names)
    assert await value(database, ORPHANS) == 0
