"""Kafka and Postgres for a whole Watchline: the embedded ones, or the ones that the environment names."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, Self

from watchline.cli.dev.epoch import next_epoch
from watchline.cli.local.broker import EmbeddedBroker
from watchline.cli.local.child import Child
from watchline.cli.local.postgres import NEWEST, USER, EmbeddedPostgres, programs
from watchline.cli.settings import read_dsn, read_kafka, read_settings
from watchline.schemas.connection import KafkaConnection
from watchline.streams.settings import StreamsSettings

DATABASE = "watchline"
# The embedded broker lets a group's first member wait for half of these.
QUICK_JOIN = {
    "WATCHLINE_SESSION_TIMEOUT_SECONDS": "6",
    "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6",
}


class Servers(Protocol):
    """A Kafka and a Postgres, usable between enter and exit; `children` are the processes to watch."""

    @property
    def kafka(self) -> KafkaConnection: ...

    @property
    def dsn(self) -> str: ...

    @property
    def first_dsn(self) -> str | None:
        """A database to create the one of `dsn` from; None when that one has to exist already."""

    @property
    def epoch(self) -> int:
        """Which log this is, see WATCHLINE_LOG_EPOCH."""

    @property
    def psql(self) -> str:
        """A shell line that opens psql."""

    @property
    def commands(self) -> Mapping[str, str]:
        """What commands in another terminal need beside Kafka's address; no secret is among it."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What the services must be told to find this pair."""

    @property
    def children(self) -> Mapping[str, Child]: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class EmbeddedServers:
    """The broker in memory and a Postgres that keeps its data below `directory`."""

    def __init__(
        self,
        directory: Path,
        *,
        announce: Callable[[str], None],
        kafka_port: int | None = None,
        postgres_port: int | None = None,
    ) -> None:
        self.directory = directory
        self.broker = EmbeddedBroker(directory / "logs" / "broker.log", port=kafka_port)
        self.postgres = EmbeddedPostgres(directory / "postgres", port=postgres_port)
        self._announce = announce
        self._exits = ExitStack()
        self._dsn_file = directory / "postgres_dsn"
        self.epoch = 0

    @property
    def kafka(self) -> KafkaConnection:
        return KafkaConnection(bootstrap_servers=self.broker.address)

    @property
    def dsn(self) -> str:
        return self.postgres.dsn_of(DATABASE)

    @property
    def first_dsn(self) -> str | None:
        return self.postgres.dsn

    @property
    def psql(self) -> str:
        host, _, port = self.postgres.address.partition(":")
        program = shutil.which("psql") or str(programs(NEWEST) / "psql")
        password = shlex.quote(str(self.postgres.directory / "password"))
        return f'PGPASSWORD="$(cat {password})" {program} -h {host} -p {port} -U {USER} {DATABASE}'

    @property
    def commands(self) -> Mapping[str, str]:
        return {"WATCHLINE_POSTGRES_DSN_FILE": str(self._dsn_file), "WATCHLINE_LOG_EPOCH": str(self.epoch)}

    @property
    def environment(self) -> Mapping[str, str]:
        return {
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": self.broker.address,
            "WATCHLINE_KAFKA_SECURITY_PROTOCOL": "PLAINTEXT",
            "WATCHLINE_POSTGRES_DSN": self.dsn,
            "WATCHLINE_LOG_EPOCH": str(self.epoch),
            **QUICK_JOIN,
        }

    @property
    def children(self) -> Mapping[str, Child]:
        return {"Postgres": self.postgres.child, "Kafka broker": self.broker.child}

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self._announce("Postgres")
            exits.enter_context(self.postgres)
            self._dsn_file.touch(mode=0o600)
            self._dsn_file.write_text(self.dsn)
            self.epoch = next_epoch(self.directory / "log_epoch")  # ours alone, now that Postgres is
            self._announce("Kafka broker (in memory)")
            exits.enter_context(self.broker)
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()


class ForeignServers:
    """The pair that WATCHLINE_KAFKA_* and WATCHLINE_POSTGRES_DSN name; neither started nor stopped here."""

    commands: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    children: Mapping[str, Child] = {}
    first_dsn: str | None = None
    psql = 'psql "$WATCHLINE_POSTGRES_DSN"'

    def __init__(self) -> None:
        self.kafka = read_kafka()
        self.dsn = read_dsn()
        self.epoch = read_settings(StreamsSettings).log_epoch

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def named_by_environment() -> bool:
    """Whether the environment names both a Kafka and a Postgres."""
    names = ("WATCHLINE_POSTGRES_DSN", "WATCHLINE_POSTGRES_DSN_FILE")
    return "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS" in os.environ and any(name in os.environ for name in names)
