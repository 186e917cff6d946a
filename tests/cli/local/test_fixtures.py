import time
from uuid import uuid4

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from brokers.apache import ApacheBroker
from brokers.kinds import Broker
from brokers.topics import create_topics
from watchline.schemas.topics import Topics, TopicSpec

ROUND_TRIP_SECONDS = 20.0


async def test_what_is_produced_to_a_topic_of_the_test_is_fetched_back(broker: Broker, topics: Topics) -> None:
    value = uuid4().bytes

    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        await producer.send_and_wait(topics.runs, value, key=b"orders", partition=1)
    async with AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest", fetch_max_wait_ms=50
    ) as consumer:
        consumer.assign([TopicPartition(topics.runs, 1)])
        await consumer.seek_to_beginning()
        found = await first_record(consumer)

    assert found == value


@pytest.mark.durable("its log is gone when it is killed")
async def test_what_was_acknowledged_outlives_a_kill_of_the_broker(killable_broker: ApacheBroker) -> None:
    spec = TopicSpec("kept", {})
    await create_topics(killable_broker.bootstrap_servers, [spec], partitions=1)
    async with AIOKafkaProducer(bootstrap_servers=killable_broker.bootstrap_servers) as producer:
        await producer.send_and_wait(spec.name, b"kept", partition=0)

    killable_broker.kill()
    killable_broker.restart()
    async with AIOKafkaConsumer(
        bootstrap_servers=killable_broker.bootstrap_servers, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(spec.name, 0)])
        found = await first_record(consumer)

    assert found == b"kept"


async def first_record(consumer: AIOKafkaConsumer) -> bytes:
    deadline = time.monotonic() + ROUND_TRIP_SECONDS
    while time.monotonic() < deadline:
        for records in (await consumer.getmany(timeout_ms=100)).values():
            return bytes(records[0].value)
    pytest.fail("nothing came back")


async def test_a_database_is_fresh_for_each_test(database: str, empty_database: str) -> None:
    assert database != empty_database

    connection = await asyncpg.connect(empty_database)
    try:
        assert await connection.fetchval("select 1") == 1
    finally:
        await connection.close()
