"""Fixtures for the SDK's tests."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from watchline.sdk.harmless import forget_warnings

Job = Callable[..., "subprocess.CompletedProcess[str]"]

# A job that ends within this is not held up by us: the promise is 2 s, the rest is the machine's.
PATIENT_SECONDS = 10.0
CLOSED_PORT = "127.0.0.1:1"


@pytest.fixture(autouse=True)
def _fresh_warnings() -> None:
    forget_warnings()


@pytest.fixture
def outbox_dir(tmp_path: Path) -> Path:
    return tmp_path / "outbox"


@pytest.fixture
def job_environment(outbox_dir: Path) -> dict[str, str]:
    """What a job's process sees: no Kafka, an outbox of its own."""
    return {
        **os.environ,
        "WATCHLINE_OUTBOX_DIR": str(outbox_dir),
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": CLOSED_PORT,
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def start_job(tmp_path: Path, job_environment: dict[str, str]) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a Python program given as text, with WATCHLINE_* from keyword arguments."""
    children: list[subprocess.Popen[str]] = []

    def start(code: str, **variables: str) -> subprocess.Popen[str]:
        path = tmp_path / f"job{len(children)}.py"
        path.write_text(textwrap.dedent(code))
        environment = job_environment | {f"WATCHLINE_{name.upper()}": value for name, value in variables.items()}
        child = subprocess.Popen(
            [sys.executable, str(path)],
            env=environment,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        if child.poll() is None:
            child.kill()
        child.communicate()


@pytest.fixture
def run_job(start_job: Callable[..., subprocess.Popen[str]]) -> Job:
    """Run a Python program given as text to its end."""

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        child = start_job(code, **variables)
        out, err = child.communicate(timeout=60)
        return subprocess.CompletedProcess([], child.returncode, out, err)

    return run


@pytest.fixture
def blackhole() -> Iterator[str]:
    """An address that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        yield f"127.0.0.1:{listening.getsockname()[1]}"
