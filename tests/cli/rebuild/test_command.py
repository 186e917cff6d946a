from __future__ import annotations

from pathlib import Path

import asyncpg
import pytest

from brokers.kinds import Broker
from faults.lives import die, points
from rebuilding.calls import Call, checksums, contents
from rebuilding.story import DAMAGE, story
from stack.services import services
from watchline.cli.main import run
from watchline.consumers.rebuild.checksums import FOLLOW
from watchline.schemas.topics import Topics

SCHEMAS = "select array_agg(nspname::text order by 1) from pg_namespace where nspname like 'watchline%'"


async def test_a_dry_run_says_what_would_be_read_and_changes_nothing(
    call: Call, connection: asyncpg.Connection
) -> None:
    before = await contents(connection)

    said = await call("--dry-run")

    assert said.code == 0
    assert f"{len(story(0, 20))} records to read" in said.out
    assert "MiB beside the old ones" in said.out
    assert await contents(connection) == before
    assert await connection.fetchval(SCHEMAS) is None


async def test_a_rebuild_prints_the_checksums_of_every_view_and_keeps_the_old_tables_until_told(
    call: Call, connection: asyncpg.Connection
) -> None:
    said = await checksums(connection)

    done = await call()

    assert done.code == 0, done.err
    for view, one in said.items():
        if view in FOLLOW:
            continue
        (line,) = (line.split() for line in done.out.splitlines() if line.startswith(f"{view} "))
        assert line[1] == str(one.rows)
        assert line[2] == line[3]
        assert line[4] == "equal"
    assert f"rebuilt from {len(story(0, 20))} records" in done.err
    assert await connection.fetchval(SCHEMAS) == ["watchline_old"]
    dropped = await call("--drop-old")
    assert (dropped.code, dropped.err) == (0, "the old tables are dropped\n")
    assert await connection.fetchval(SCHEMAS) is None
    assert (await call("--drop-old")).err == "there is nothing to drop\n"


async def test_a_difference_is_named_and_nothing_swapped_until_it_is_accepted(
    call: Call, connection: asyncpg.Connection
) -> None:
    said = await checksums(connection)
    await connection.execute(DAMAGE)

    refused = await call()
    accepted = await call("--accept-differences")

    assert refused.code == 1
    assert "views would differ: anomalies, commands, daily, " in refused.err
    assert "runs " in refused.out
    assert "→" in refused.out
    assert accepted.code == 0
    assert await checksums(connection) == said


@pytest.mark.parametrize("point", points(["R1", "R2", "R3"], always="R3"))
async def test_a_rebuild_that_dies_leaves_the_old_tables_in_force_and_the_next_one_begins_anew(
    point: str,
    tmp_path: Path,
    broker: Broker,
    stored: Topics,
    database: str,
    connection: asyncpg.Connection,
    call: Call,
) -> None:
    before = await contents(connection)

    with services(tmp_path, broker.bootstrap_servers, database, stored) as running:
        await die(running, "rebuild", f"{point}:kill:1")
    survived = await contents(connection)
    done = await call()

    assert survived == before
    assert done.code == 0, done.err
    assert await contents(connection) == before
    assert await connection.fetchval(SCHEMAS) == ["watchline_old"]


def test_drop_old_does_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rebuild", "--drop-old", "--keep-older"]) == 2

    assert "does nothing else" in capsys.readouterr().err
