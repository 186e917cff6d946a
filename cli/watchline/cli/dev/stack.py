"""The whole of Watchline on one pair of servers: started in order, watched, stopped in the opposite order."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from watchline.cli.dev.alerts import AlertPipe
from watchline.cli.dev.database import ensure_database
from watchline.cli.dev.servers import DATABASE, Servers
from watchline.cli.local.child import Child
from watchline.cli.reach import check_kafka, check_postgres
from watchline.cli.settings import read_topics
from watchline.consumers import migrations
from watchline.schemas.errors import Unavailable
from watchline.schemas.topics import PARTITIONS
from watchline.streams.topics import create_topics

READY_SECONDS = 60.0
STOP_SECONDS = 8.0


@dataclass(frozen=True, slots=True)
class Service:
    """One part of Watchline: the command that runs it, and what it is called in messages."""

    command: str
    title: str


STREAMS = Service("streams", "streams worker")
SINK = Service("sink", "sink")
NOTIFIER = Service("notify", "notifier")
SERVICES = (STREAMS, SINK, NOTIFIER)


class Stack:
    """Servers, schema, topics, streams worker, sink and notifier: enter to start, leave to stop.

    `announce` hears what starts now, `show_alert` every line that the notifier prints; `environment` is for the
    services.
    """

    def __init__(
        self,
        directory: Path,
        servers: Servers,
        *,
        announce: Callable[[str], None],
        show_alert: Callable[[str], None],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.logs = directory / "logs"
        self._scratch = directory / "tmp"
        self.servers = servers
        self._announce = announce
        self._alerts = AlertPipe(show_alert)
        self._environment = dict(environment or {})
        self._children: dict[str, Child] = {}
        self._exits = ExitStack()

    def __enter__(self) -> Self:
        for folder in (self.logs, self._scratch):
            folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as exits:
            exits.enter_context(self.servers)
            self._children.update(self.servers.children)
            self._announce("database schema and topics")
            asyncio.run(self._prepare())
            exits.callback(self._alerts.finish)
            for service in SERVICES:  # side by side: each takes seconds to join its group
                self._start(service, exits)
            for service in SERVICES:
                self._announce(service.title)
                child = self._children[service.title]
                child.wait_until(partial(self._is_ready, service), seconds=READY_SECONDS)
            self._exits = exits.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def check(self) -> None:
        """Raise Unavailable, naming the part and showing the end of its log, when one has died."""
        for title, child in self._children.items():
            if child.exit_code is not None:
                raise Unavailable(f"the {title} ended with code {child.exit_code}", hint=child.log_tail())

    async def _prepare(self) -> None:
        await check_kafka(self.servers.kafka)
        if self.servers.first_dsn:
            await ensure_database(self.servers.first_dsn, DATABASE)
        await check_postgres(self.servers.dsn)
        await migrations.migrate(self.servers.dsn)
        await create_topics(self.servers.kafka, read_topics(), partitions=PARTITIONS, replication_factor=1)

    def _start(self, service: Service, exits: ExitStack) -> None:
        ready = self._ready_file(service)
        log = self.logs / f"{service.command}.log"
        for old in (ready, log):
            old.unlink(missing_ok=True)
        child = Child(
            f"the {service.title}",
            [sys.executable, "-m", "watchline.cli", service.command],
            log=log,
            environment={
                **self.servers.environment,
                "COLUMNS": str(shutil.get_terminal_size().columns),  # alerts are shown in this terminal
                **self._environment,
                "PYTHONUNBUFFERED": "1",
                "WATCHLINE_READY_FILE": str(ready),
                "TMPDIR": str(self._scratch),  # what a service leaves behind goes away with the directory
            },
            stdout=self._alerts.writer if service is NOTIFIER else None,
        )
        exits.callback(child.stop, seconds=STOP_SECONDS)
        if service is NOTIFIER:
            self._alerts.start()
        self._children[service.title] = child

    def _is_ready(self, service: Service) -> bool:
        self.check()  # the service may wait for another part that has just died
        return self._ready_file(service).exists()

    def _ready_file(self, service: Service) -> Path:
        return self.directory / f"{service.command}.ready"
