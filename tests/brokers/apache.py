"""Apache Kafka, one node in KRaft mode, run from the jars that Maven fetches; needs Java 17 and Maven."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

from watchline.cli.local.broker import kafka_answers
from watchline.cli.local.child import Child, free_port

POM = Path(__file__).parent / "jars" / "pom.xml"
REPOSITORY = POM.parents[3]
START_SECONDS = 90.0
JVM = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# The session is short because a broker that was killed may register again only when its last one is over.
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
auto.create.topics.enable=false
broker.session.timeout.ms=5000
broker.heartbeat.interval.ms=500
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
offsets.topic.num.partitions=4
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
"""


class ApacheBroker:
    """One broker whose log and ports outlive `kill` and `restart`; `folder` is its own."""

    durable = True

    def __init__(self, folder: Path, *, cache: Path) -> None:
        self._folder = folder
        self._classpath = f"{jars(cache)}/*"
        self._port = free_port()
        self._child: Child | None = None

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        """Format the log if it is new, start the broker and return when it answers."""
        settings = self._folder / "server.properties"
        if not settings.exists():
            self._format(settings)
        self._child = Child(
            "Apache Kafka", [*self._java(), "kafka.Kafka", str(settings)], log=self._folder / "kafka.log"
        )
        self._child.wait_until(lambda: kafka_answers(self._port), seconds=START_SECONDS)

    def stop(self) -> None:
        """Let it close its log."""
        if self._child is not None:
            self._child.stop(seconds=30.0)

    def kill(self) -> None:
        """SIGKILL: nothing is closed."""
        if self._child is not None:
            self._child.kill()

    def restart(self) -> None:
        """Start again on the same log and ports, after `stop` or `kill` or neither."""
        self.stop()
        self.start()

    def _format(self, settings: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        text = SETTINGS.format(port=self._port, controller=free_port(), logs=self._folder / "logs")
        settings.write_text(text)
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = [*self._java(), "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def _java(self) -> list[str]:
        java = shutil.which("java")
        assert java is not None, "WATCHLINE_TEST_BROKER=apache needs Java 17 or newer on the PATH"
        return [java, *JVM, "-cp", self._classpath]


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
