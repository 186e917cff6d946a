"""One process of Apache Kafka in KRaft mode, run from the jars that Maven fetches; needs Java 17 and Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path

from watchline.cli.local.broker import kafka_answers
from watchline.cli.local.child import Child

POM = Path(__file__).parent / "jars" / "pom.xml"
REPOSITORY = POM.parents[3]
START_SECONDS = 90.0
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# The session is short because a broker that was killed may register again only when its last one is over.
COMMON = {
    "auto.create.topics.enable": "false",
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "controller.listener.names": "CONTROLLER",
}


class Node:
    """A broker whose log and ports outlive `kill` and `restart`; `folder` is its own.

    `settings` are those of server.properties beside COMMON; it has started when `port` answers in plain text.
    """

    def __init__(
        self, folder: Path, settings: Mapping[str, str], *, cache: Path, port: int, heap: str = "512m"
    ) -> None:
        self.port = port
        self._folder = folder
        self._settings = {**COMMON, "log.dirs": str(folder / "logs"), **settings}
        self._java = [java(), f"-Xmx{heap}", *JVM, "-cp", f"{jars(cache)}/*"]
        self._child: Child | None = None

    @property
    def log(self) -> Path:
        """What it says."""
        return self._folder / "kafka.log"

    def start(self) -> None:
        """Start it and return when it answers."""
        self.launch()
        self.wait()

    def launch(self, cluster: str | None = None, options: Sequence[str] = ()) -> None:
        """Start it and don't wait; format its log if that is new, with these `options` of the storage tool."""
        path = self._folder / "server.properties"
        if not path.exists():
            self._format(path, cluster or new_cluster(), options)
        self._child = Child("Apache Kafka", [*self._java, "kafka.Kafka", str(path)], log=self.log)

    def wait(self) -> None:
        """Return when it answers."""
        assert self._child is not None, "launch it first"
        self._child.wait_until(lambda: kafka_answers(self.port), seconds=START_SECONDS)

    def stop(self) -> None:
        """Let it close its log."""
        if self._child is not None:
            self._child.stop(seconds=30.0)

    def kill(self) -> None:
        """SIGKILL: nothing is closed."""
        if self._child is not None:
            self._child.kill()

    def _format(self, path: Path, cluster: str, options: Sequence[str]) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        tool = [*self._java, "kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(path), *options]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            path.unlink()  # else the next start would take the log for a formatted one
        assert done.returncode == 0, done.stdout + done.stderr


def new_cluster() -> str:
    """The id of a new cluster."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def listeners(*named: tuple[str, str, int, str | None]) -> dict[str, str]:
    """Settings for listeners of (name, protocol, port, address that clients are told or None)."""
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, _, port, _ in named),
        "advertised.listeners": ",".join(f"{name}://{address}" for name, _, _, address in named if address),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol, _, _ in named),
    }


def replicated(factor: int, least: int) -> dict[str, str]:
    """Settings for how many copies Kafka's own topics have, and how many must be in sync."""
    own = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
    return {f"{topic}.replication.factor": str(factor) for topic in own} | {
        "transaction.state.log.min.isr": str(least),
        "share.coordinator.state.topic.min.isr": str(least),
    }


def java() -> str:
    """The program."""
    found = shutil.which("java")
    assert found is not None, "WATCHLINE_TEST_BROKER=apache needs Java 17 or newer on the PATH"
    return found


def jars(cache: Path) -> Path:
    """The folder with the jars that `POM` names, fetched once into `cache`."""
    found = re.search(r"<kafka.version>(.+)</kafka.version>", POM.read_text())
    assert found is not None
    folder = cache / f"kafka-{found[1]}"
    if not folder.exists():
        fetch(folder)
    return folder


def fetch(folder: Path) -> None:
    """Have Maven copy the jars, and rename the folder last: a broken fetch is never taken for a whole one."""
    maven = shutil.which("mvn")
    assert maven is not None, "WATCHLINE_TEST_BROKER=apache needs Maven on the PATH"
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    arguments = ["-q", "-B", "-f", str(POM), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    done = subprocess.run(
        [maven, *arguments, f"-DoutputDirectory={partial}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    partial.rename(folder)
