"""The Kafka side of the transport, without a broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.structs import TopicPartition
from faust.transport.drivers.aiokafka import AIOKafkaConsumerThread
from faust.transport.drivers.aiokafka import Transport as StockTransport
from pydantic import SecretStr

from watchline.schemas.connection import KafkaConnection
from watchline.streams.transport import make_app
from watchline.streams.transport.app import calm_loggers, credentials
from watchline.streams.transport.driver import ConsumerThread, Transport
from watchline.streams.transport.producer import SafeProducer


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    made: list[Any] = []

    def app(**settings: Any) -> Any:
        kafka = settings.pop("kafka", KafkaConnection(bootstrap_servers="one:9092,two:9093"))
        made.append(make_app(app_id="watched", kafka=kafka, partitions=4, data_dir=tmp_path, **settings))
        return made[-1]

    yield app
    for one in made:
        if one._consumer is not None:
            one._consumer._thread.thread_loop.close()  # made with the consumer; none of these threads ran


async def test_the_application_talks_to_all_addresses_by_our_transport(build: Callable[..., Any]) -> None:
    app = build()

    assert isinstance(app.transport, Transport)
    assert isinstance(app.producer, SafeProducer)
    assert [(url.host, url.port) for url in app.transport.url] == [("one", 9092), ("two", 9093)]


@pytest.mark.parametrize(("kind", "wait"), [(AIOKafkaConsumerThread, 1500), (ConsumerThread, 35)])
async def test_a_broker_may_hold_an_answer_back_as_long_as_the_setting_says(
    build: Callable[..., Any], kind: type[AIOKafkaConsumerThread], wait: int
) -> None:
    app = build(fetch_wait_ms=35)
    thread = kind(app.consumer)

    consumer = thread._create_worker_consumer(app.transport)

    assert consumer._fetch_max_wait_ms == wait
    await consumer.stop()
    thread.thread_loop.close()


class Positions:
    """As much of an aiokafka consumer as a seek needs: one partition without a commit, read up to 40."""

    def __init__(self) -> None:
        self.position = {TopicPartition("events", 0): 40, TopicPartition("watched-rows-changelog", 0): 40}

    async def seek_to_committed(self) -> dict[TopicPartition, int | None]:
        return dict.fromkeys(self.position)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        self.position.update(dict.fromkeys(partitions, 0))


async def test_a_source_without_a_commit_is_read_from_the_beginning_again(build: Callable[..., Any]) -> None:
    app = build()
    app.topics._acking_topics.add("events")
    thread = ConsumerThread(app.consumer)
    positions = Positions()
    thread._consumer = positions

    await thread._seek_to_committed()

    assert list(positions.position.values()) == [0, 40]
    thread.thread_loop.close()


class Listing:
    """As much of an aiokafka client as a look at the topics needs."""

    def __init__(self, *topics: str) -> None:
        self._topics = set(topics)

    async def fetch_all_metadata(self) -> Listing:
        return self

    def topics(self) -> set[str]:
        return self._topics


async def test_a_topic_that_exists_is_not_asked_for_again(
    build: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    async def ask(self: Any, owner: Any, client: Any, topic: str, *args: Any) -> None:
        asked.append(topic)

    monkeypatch.setattr(StockTransport, "_really_create_topic", ask)
    app = build()

    for topic in ("there", "missing"):
        await app.transport._create_topic(app.producer, Listing("there"), topic, 4, 1)

    assert asked == ["missing"]


def test_credentials_carry_the_password_and_the_mechanism() -> None:
    kafka = KafkaConnection(
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-512",
        sasl_username="reader",
        sasl_password=SecretStr("secret"),
    )

    made: Any = credentials(kafka)

    assert (made.username, made.password, made.mechanism.value) == ("reader", "secret", "SCRAM-SHA-512")
    assert made.protocol.value == "SASL_SSL"
    assert "secret" not in repr(made)


def test_plain_text_needs_no_credentials() -> None:
    assert credentials(KafkaConnection()) is None


def test_loggers_stay_calm_when_the_root_logger_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("aiokafka"), "level", logging.NOTSET)

    calm_loggers()

    assert logging.getLogger("aiokafka").level == logging.INFO


async def test_an_application_starts_inside_a_running_loop_and_says_when_kafka_is_away(
    build: Callable[..., Any],
) -> None:
    app = build(kafka=KafkaConnection(bootstrap_servers="127.0.0.1:1"))

    with pytest.raises(Exception, match="Unable to bootstrap"):
        await asyncio.wait_for(app.start(), 20)

    await app.stop()
