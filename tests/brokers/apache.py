"""Apache Kafka as a single broker; needs Java 17 and Maven."""

from __future__ import annotations

from pathlib import Path

from brokers.node import REPOSITORY, Node, listeners, replicated
from watchline.cli.local.child import free_port

__all__ = ["REPOSITORY", "ApacheBroker"]


class ApacheBroker:
    """One broker whose log and ports outlive `kill` and `restart`; `folder` is its own.

    It has a second listener for clients behind a proxy: it listens at `proxied_port` and tells clients to come back by
    `advertised_port`, where the proxy has to listen (`network.kafka.behind`).
    """

    durable = True

    def __init__(self, folder: Path, *, cache: Path) -> None:
        self.proxied_port, self.advertised_port = free_port(), free_port()
        port, controller = free_port(), free_port()
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            **listeners(
                ("PLAINTEXT", "PLAINTEXT", port, f"127.0.0.1:{port}"),
                ("PROXIED", "PLAINTEXT", self.proxied_port, f"127.0.0.1:{self.advertised_port}"),
                ("CONTROLLER", "PLAINTEXT", controller, None),
            ),
            **replicated(1, 1),
        }
        self._node = Node(folder, settings, cache=cache, port=port)

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._node.port}"

    def start(self) -> None:
        """Format the log if it is new, start the broker and return when it answers."""
        self._node.start()

    def stop(self) -> None:
        """Let it close its log."""
        self._node.stop()

    def kill(self) -> None:
        """SIGKILL: nothing is closed."""
        self._node.kill()

    def restart(self) -> None:
        """Start again on the same log and ports, after `stop` or `kill` or neither."""
        self.stop()
        self.start()
