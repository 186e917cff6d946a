"""The brokers that WATCHLINE_TEST_BROKER chooses from, behind one small Protocol."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from brokers.apache import ApacheBroker
from watchline.cli.local.broker import EmbeddedBroker


class Broker(Protocol):
    """What a test may know of its broker."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def durable(self) -> bool:
        """Whether it keeps its log over a restart and reports true end offsets."""
        ...


@dataclass(frozen=True, slots=True)
class Address:
    """A broker that is only known by its address."""

    bootstrap_servers: str
    durable: bool


@contextmanager
def open_broker(choice: str, folder: Path, *, cache: Path) -> Iterator[Broker]:
    """The broker that `choice` names: embedded, apache, testcontainers, or host:port."""
    if choice == "embedded":
        with EmbeddedBroker(folder / "broker.log") as embedded:
            yield Address(embedded.address, durable=False)
    elif choice == "apache":
        apache = ApacheBroker(folder / "apache", cache=cache)
        try:
            apache.start()
            yield apache
        finally:
            apache.stop()
    elif choice == "testcontainers":
        from testcontainers.community.kafka import KafkaContainer  # noqa: PLC0415 - asks for Docker when imported

        with KafkaContainer("confluentinc/cp-kafka:7.9.0").with_kraft() as container:
            yield Address(container.get_bootstrap_server(), durable=True)
    else:
        assert ":" in choice, f"WATCHLINE_TEST_BROKER={choice} is not embedded, apache, testcontainers or host:port"
        yield Address(choice, durable=True)
