import asyncio
import signal
from pathlib import Path

import asyncpg
import pytest

from terminals.processes import Process, all_gone
from terminals.terminal import OpenTerminal, Terminal

RUNNING = "Ctrl-C stops everything"


def running(opened: Terminal) -> list[Process]:
    """All processes of a dev that has come up."""
    opened.wait_for(RUNNING)
    return opened.processes()


def test_ctrl_c_ends_everything_and_leaves_no_process(terminal: OpenTerminal) -> None:
    dev = terminal("dev")
    processes = running(dev)

    dev.signal(signal.SIGINT)
    code = dev.wait()

    assert code == 0
    assert len(processes) >= 5
    assert all_gone(processes)
    assert "Postgres is kept in" in dev.shown


def test_a_kill_of_dev_leaves_no_process(terminal: OpenTerminal) -> None:
    dev = terminal("dev")
    processes = running(dev)

    dev.signal(signal.SIGKILL)
    dev.wait()

    assert all_gone(processes)


@pytest.mark.parametrize(
    ("command", "name"),
    [("watchline.cli sink", "sink"), ("tansu", "Kafka broker")],
)
def test_one_part_that_dies_stops_all_and_is_named(terminal: OpenTerminal, command: str, name: str) -> None:
    dev = terminal("dev")
    processes = running(dev)

    next(each for each in processes if command in each.command).kill()
    code = dev.wait()

    assert code == 1
    assert f"error: the {name} ended with code -9" in dev.shown
    assert "the end of" in dev.shown
    assert all_gone(processes)


async def test_a_failed_job_is_stored_and_alerted_and_a_sigterm_ends_it_all(
    terminal: OpenTerminal, tmp_path: Path
) -> None:
    dev = terminal("dev", environment={"WATCHLINE_GROUP_WAIT_SECONDS": "0"})
    await asyncio.to_thread(dev.wait_for, RUNNING)
    export = dev.wait_for("export WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=")
    dsn_file = dev.wait_for("export WATCHLINE_POSTGRES_DSN_FILE=")
    psql = dev.wait_for("PGPASSWORD=")

    job = terminal(
        "exec", "--pipeline", "nightly", "--", "false", environment=dict([export.removeprefix("export ").split("=")])
    )
    code = await asyncio.to_thread(job.wait)
    alert = await asyncio.to_thread(dev.wait_for, "FAIL")

    listing = terminal("incidents", "list", environment=dict([dsn_file.removeprefix("export ").split("=")]))
    listed = await asyncio.to_thread(listing.wait)

    assert code == 1
    assert "nightly" in alert
    assert (listed, "nightly" in listing.shown) == (0, True)
    password = (tmp_path / ".watchline" / "postgres" / "password").read_text().strip()
    port = psql.split(" -p ")[1].split()[0]
    connection = await asyncpg.connect(f"postgresql://watchline:{password}@127.0.0.1:{port}/watchline")
    try:
        rows = await connection.fetch("select pipeline, status from reporting.runs")
    finally:
        await connection.close()
    assert [tuple(row) for row in rows] == [("nightly", "failed")]

    dev.signal(signal.SIGTERM)
    assert await asyncio.to_thread(dev.wait) == 0
