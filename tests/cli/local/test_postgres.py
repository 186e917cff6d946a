import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
import pytest

from watchline.cli.local.lockfile import running_server
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.schemas.errors import Misconfigured

QUICK = {"fsync": "off"}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """A server that the tests of this module stop and start again."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("kept") / "postgres", settings=QUICK).start()
    yield server
    server.stop()


@pytest.fixture
def server(kept: EmbeddedPostgres) -> EmbeddedPostgres:
    if kept.child.exit_code is not None:
        kept.start()
    return kept


@contextmanager
def stranger_of(uid: int) -> Iterator[int]:
    """The pid of a program of the same user that is no Postgres, ended at the end."""
    cat = shutil.which("cat")
    assert cat is not None
    user = uid if os.geteuid() == 0 else None
    with subprocess.Popen([cat], stdin=subprocess.PIPE, user=user, cwd="/") as stranger:
        yield stranger.pid
        stranger.terminate()


async def fetch(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_data_outlive_a_restart(server: EmbeddedPostgres) -> None:
    await fetch(server.dsn, "create table kept as select 7 as value")

    server.stop()
    server.start()

    assert await fetch(server.dsn, "select value from kept") == 7


async def test_data_outlive_a_kill(server: EmbeddedPostgres) -> None:
    await fetch(server.dsn, "create table killed as select 8 as value")

    server.child.kill()
    server.start()

    assert await fetch(server.dsn, "select value from killed") == 8


async def test_a_wrong_password_is_refused(server: EmbeddedPostgres) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(server.dsn, password="guess")


async def test_the_log_and_the_settings_keep_to_this_machine(server: EmbeddedPostgres) -> None:
    assert await fetch(server.dsn, "show listen_addresses") == "127.0.0.1"
    assert await fetch(server.dsn, "show unix_socket_directories") == ""
    assert await fetch(server.dsn, "show fsync") == "off"


def test_password_and_data_are_for_their_owner_only(server: EmbeddedPostgres) -> None:
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (server.directory / "password", server.data)]

    assert modes == [0o600, 0o700]
    assert server.data.stat().st_uid != 0


def test_nothing_runs_after_stop(server: EmbeddedPostgres) -> None:
    pid = server.child.pid
    assert running_server(server.data) == pid

    server.stop()
    server.stop()

    assert server.child.exit_code == 0
    assert running_server(server.data) is None


async def test_a_stale_pid_file_that_names_a_stranger_does_not_stop_it(server: EmbeddedPostgres) -> None:
    server.stop()
    owner = server.data.stat().st_uid
    with stranger_of(owner) as pid:
        lock = server.data / "postmaster.pid"
        lock.write_text(f"{pid}\n{server.data}\n0\n1\n\n127.0.0.1\n0 0\nready\n")
        os.chown(lock, owner, -1)

        server.start()

        assert await fetch(server.dsn, "select 1") == 1


def test_a_lost_password_is_said_with_what_to_do(server: EmbeddedPostgres) -> None:
    password = server.directory / "password"
    aside = shutil.move(password, server.directory / "aside")
    try:
        with pytest.raises(Misconfigured) as caught:
            server.dsn_of("postgres")
    finally:
        shutil.move(aside, password)

    assert str(server.directory) in str(caught.value.hint)


def test_data_of_another_version_are_refused(tmp_path: Path) -> None:
    directory = tmp_path / "postgres"
    data = directory / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("12\n")
    if os.geteuid() == 0:
        os.chown(directory, 65534, 65534)

    with pytest.raises(Misconfigured, match="Postgres 12"):
        EmbeddedPostgres(directory).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="about what root may do")
def test_files_of_root_are_never_given_away(tmp_path: Path) -> None:
    directory = tmp_path / "postgres"
    directory.mkdir()
    (directory / "thesis.txt").touch()

    with pytest.raises(Misconfigured, match="holds files of root"):
        EmbeddedPostgres(directory).start()

    assert directory.stat().st_uid == 0
