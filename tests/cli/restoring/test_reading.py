"""Reading a topic up to its end."""

from __future__ import annotations

import pytest
from aiokafka import TopicPartition

from brokers.kinds import Broker
from watchline.cli.restoring import reading
from watchline.schemas import KafkaConnection, Topics
from watchline.schemas.errors import Unavailable


async def test_a_topic_that_ends_before_its_known_end_is_not_waited_for_without_end(
    broker: Broker, topics: Topics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PATIENCE_SECONDS", 0.1)
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)

    with pytest.raises(Unavailable, match=f"{topics.runs}/0 gives nothing more before its end at 9"):
        async for _ in reading.read_all(kafka, {TopicPartition(topics.runs, 0): 9}):
            pass
