import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from watchline.cli.local.broker import EmbeddedBroker, kafka_answers
from watchline.cli.local.child import free_port
from watchline.schemas.errors import Unavailable

PARENT = """
import sys
from pathlib import Path
from watchline.cli.local.broker import EmbeddedBroker

broker = EmbeddedBroker(Path(sys.argv[1])).start()
print(broker.child.pid, flush=True)
sys.stdin.read()
"""


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 20
    while is_running(pid):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.02)


def answer_once(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.recv(64)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def test_it_answers_on_the_port_it_was_given(tmp_path: Path) -> None:
    port = free_port()

    with EmbeddedBroker(tmp_path / "broker.log", port=port) as broker:
        assert broker.address == f"127.0.0.1:{port}"
        assert kafka_answers(port)


def test_nothing_runs_after_stop_and_a_second_stop_is_harmless(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "broker.log").start()

    broker.stop()
    broker.stop()

    assert broker.child.exit_code is not None
    assert not kafka_answers(int(broker.address.rpartition(":")[2]))


def test_a_port_that_is_taken_is_said_with_the_end_of_the_log(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = EmbeddedBroker(tmp_path / "broker.log", port=taken.getsockname()[1])

        with pytest.raises(Unavailable) as caught:
            broker.start()

    assert "embedded broker ended with code" in str(caught.value)
    assert "broker.log" in str(caught.value.hint)


def test_what_listens_but_is_no_kafka_does_not_count_as_an_answer() -> None:
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        answering = threading.Thread(target=answer_once, args=(stranger,))
        answering.start()

        assert not kafka_answers(port)
        answering.join()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has ended")
def test_it_does_not_outlive_a_parent_that_is_killed(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "broker.log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    with parent.stdin, parent.stdout:
        child = int(parent.stdout.readline())
        was_running = is_running(child)

        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()

    assert was_running
    try:
        wait_until_gone(child)
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)
