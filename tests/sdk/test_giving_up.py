"""A connection that is given up while Kafka's client is being started."""

from __future__ import annotations

import gc
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from watchline.sdk.courier import Courier
from watchline.sdk.kafka import KafkaCarrier
from watchline.sdk.message import Message, Rank
from watchline.sdk.outbox import Outbox
from watchline.sdk.settings import Settings

PATIENT = 30.0
METADATA, VERSIONS = 3, 18


class ThoughtfulKafka:
    """Says what it knows, and thinks for ever about its metadata."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        connection.settimeout(PATIENT)
        with connection, connection.makefile("rb") as stream, suppress(ConnectionResetError):
            while size := stream.read(4):
                request = stream.read(*struct.unpack(">i", size))
                key, _, correlation = struct.unpack_from(">hhi", request)
                if key == METADATA:
                    self.asked.set()
                    continue
                body = struct.pack(">hihhhhhh", 0, 2, METADATA, 0, 5, VERSIONS, 0, 0)
                connection.sendall(struct.pack(">ii", len(body) + 4, correlation) + body)

    def close(self) -> None:
        self._thread.join(PATIENT)
        self._server.close()


@pytest.fixture
def kafka() -> Iterator[ThoughtfulKafka]:
    thoughtful = ThoughtfulKafka()
    yield thoughtful
    thoughtful.close()


def test_a_fork_while_kafka_is_asked_for_its_metadata_warns_nobody_of_an_open_connection(
    kafka: ThoughtfulKafka, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    settings = Settings(connection=kafka.address)
    courier = Courier(lambda: KafkaCarrier(settings), Outbox(tmp_path, max_bytes=1), max_events=9, max_bytes=999)
    courier.emit(Message("t", b"k", b"v", Rank.END))
    assert kafka.asked.wait(PATIENT)

    courier.before_fork()
    gc.collect()

    assert [str(warning.message) for warning in recwarn] == []
    assert courier.counters().pending == 1
