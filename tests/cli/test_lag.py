import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from brokers.kinds import Broker
from watchline.cli.lag import committed_offsets, end_offsets, lag
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics


async def test_the_end_counts_every_record_of_the_last_batch(broker: Broker, topics: Topics) -> None:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, linger_ms=50) as producer:
        sent = [await producer.send(topics.runs, b"x", partition=2) for _ in range(25)]
        for each in sent:
            await each

    ends = await end_offsets(kafka, [topics.runs, "a.topic.that.is.not.there"])

    assert ends[TopicPartition(topics.runs, 2)] == 25
    assert sum(ends.values()) == 25


async def test_the_end_is_found_while_jobs_go_on_sending(broker: Broker, topics: Topics) -> None:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)

    async def send_for_ever() -> None:
        while True:
            await producer.send_and_wait(topics.runs, b"x", partition=2)

    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers) as producer:
        sending = asyncio.create_task(send_for_ever())
        try:
            async with asyncio.timeout(30):
                ends = await end_offsets(kafka, [topics.runs])
        finally:
            sending.cancel()
            await asyncio.wait({sending})

    assert ends[TopicPartition(topics.runs, 2)] > 0


async def test_the_lag_is_what_a_group_has_not_committed(broker: Broker, topics: Topics) -> None:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    place = TopicPartition(topics.runs, 0)
    async with AIOKafkaConsumer(
        bootstrap_servers=broker.bootstrap_servers, group_id=topics.application, enable_auto_commit=False
    ) as consumer:
        consumer.assign([place])
        await consumer.commit({place: OffsetAndMetadata(3, "")})

    committed = await committed_offsets(kafka, topics.application, [place, TopicPartition(topics.runs, 1)])
    unknown = await committed_offsets(kafka, f"{topics.prefix}-nobody", [place])

    assert committed == {place: 3}
    assert unknown == {}
    assert lag({place: 10}, committed) == 7
    assert lag({place: 10}, {}) == 10
    assert lag({place: 2}, committed) == 0
