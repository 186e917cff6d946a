"""Three nodes of Apache Kafka on 127.0.0.1, each broker and controller; needs Java 17 and Maven."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from brokers.node import Node, listeners, new_cluster, replicated
from watchline.cli.local.child import free_port

HEAP = "256m"


class ApacheCluster:
    """A cluster whose logs and ports outlive `kill` and `restart`; `folder` is its own.

    A record is acknowledged when two of three have it, so one node may be away: killed, or stopped. Nodes are
    numbered from 1.
    """

    durable = True

    def __init__(self, folder: Path, *, cache: Path, nodes: int = 3) -> None:
        ports = {number: (free_port(), free_port()) for number in range(1, nodes + 1)}
        voters = ",".join(f"{number}@127.0.0.1:{controller}" for number, (_, controller) in ports.items())
        copies = min(3, nodes)
        self._nodes = {
            number: Node(
                folder / f"node-{number}",
                {
                    "process.roles": "broker,controller",
                    "node.id": str(number),
                    "controller.quorum.voters": voters,
                    "default.replication.factor": str(copies),
                    "min.insync.replicas": str(copies - 1),
                    **listeners(
                        ("PLAINTEXT", "PLAINTEXT", port, f"127.0.0.1:{port}"),
                        ("CONTROLLER", "PLAINTEXT", controller, None),
                    ),
                    **replicated(copies, copies - 1),
                },
                cache=cache,
                port=port,
                heap=HEAP,
            )
            for number, (port, controller) in ports.items()
        }

    @property
    def nodes(self) -> list[int]:
        return list(self._nodes)

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all nodes."""
        return ",".join(f"127.0.0.1:{node.port}" for node in self._nodes.values())

    def start(self) -> None:
        """Format the logs if they are new, start all nodes and return when each answers."""
        cluster = new_cluster()
        for node in self._nodes.values():
            node.launch(cluster)
        for node in self._nodes.values():
            node.wait()

    def stop(self) -> None:
        """Let them close their logs, all at once: the last ones would wait for a quorum that has gone."""
        with ThreadPoolExecutor() as side_by_side:
            list(side_by_side.map(Node.stop, self._nodes.values()))

    def kill(self, number: int) -> None:
        """SIGKILL one node."""
        self._nodes[number].kill()

    def restart(self, number: int) -> None:
        """Start one node again on its log and ports, and return when it answers; it still has to catch up."""
        self._nodes[number].stop()
        self._nodes[number].start()
