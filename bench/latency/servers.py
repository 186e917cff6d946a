"""The servers that a benchmark runs on: a Postgres of its own, and either the embedded broker or one at an address."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from watchline.cli.dev.servers import DATABASE, QUICK_JOIN, EmbeddedServers, Servers
from watchline.cli.local.child import Child
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.schemas.connection import KafkaConnection


class NamedKafka:
    """A Kafka that somebody else runs, and an embedded Postgres."""

    epoch = 0
    psql = ""
    commands: Mapping[str, str] = {}

    def __init__(self, directory: Path, address: str) -> None:
        self.kafka = KafkaConnection(bootstrap_servers=address)
        self.postgres = EmbeddedPostgres(directory / "postgres")

    @property
    def dsn(self) -> str:
        return self.postgres.dsn_of(DATABASE)

    @property
    def first_dsn(self) -> str | None:
        return self.postgres.dsn

    @property
    def environment(self) -> Mapping[str, str]:
        address = self.kafka.bootstrap_servers
        return {
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": address,
            "WATCHLINE_POSTGRES_DSN": self.dsn,
            **QUICK_JOIN,
        }

    @property
    def children(self) -> Mapping[str, Child]:
        return {"Postgres": self.postgres.child}

    def __enter__(self) -> Self:
        self.postgres.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.postgres.stop()


def servers_of(directory: Path, address: str | None, *, prefix: str) -> Servers:
    """Servers below `directory`, topics under `prefix`; nothing that the caller has set as `WATCHLINE_*` counts."""
    for name in [name for name in os.environ if name.startswith("WATCHLINE_")]:
        del os.environ[name]
    os.environ["WATCHLINE_TOPIC_PREFIX"] = prefix
    return EmbeddedServers(directory, announce=lambda _: None) if address is None else NamedKafka(directory, address)
