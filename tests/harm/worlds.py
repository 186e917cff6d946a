"""What may become of Kafka and of the disk while a job runs."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from watchline.cli.local.broker import EmbeddedBroker

NOWHERE = "127.0.0.1:1"
# A disk of 64 KiB that is mounted for one process and its children, and full.
FULL_DISK = """
mount -t tmpfs -o size=64k watchline "$WATCHLINE_OUTBOX_DIR" || exit 125
cat /dev/zero > "$WATCHLINE_OUTBOX_DIR/ballast" 2> /dev/null
exec "$@"
"""


@dataclass(frozen=True, slots=True)
class World:
    """Where a job's Kafka is, the command that it runs in, and what happens when it pauses."""

    address: str
    within: Sequence[str] = ()
    at_pause: Callable[[], None] = lambda: None
    settings: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def nobody(folder: Path) -> Iterator[World]:
    """Nothing listens."""
    yield World(NOWHERE)


@contextmanager
def no_name(folder: Path) -> Iterator[World]:
    """The broker's name has no address."""
    yield World("no-such-host.invalid:9092")


@contextmanager
def blackhole(folder: Path) -> Iterator[World]:
    """Something accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield World(f"127.0.0.1:{listening.getsockname()[1]}")


@contextmanager
def dying(folder: Path) -> Iterator[World]:
    """A broker that is killed amid the job."""
    with EmbeddedBroker(folder / "broker.log") as broker:
        yield World(broker.address, at_pause=broker.child.kill)


@contextmanager
def full_disk(folder: Path) -> Iterator[World]:
    """Nothing listens, and the outbox has no room."""
    mounting = ["unshare", "-m"]
    (folder / "outbox").mkdir()
    probe = subprocess.run([*mounting, "mount", "-t", "tmpfs", "probe", str(folder / "outbox")], check=False)
    if probe.returncode != 0:
        pytest.skip("a full disk needs leave to mount a small one: root, or CAP_SYS_ADMIN")
    yield World(NOWHERE, within=[*mounting, "sh", "-c", FULL_DISK, "sh"])
