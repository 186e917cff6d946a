"""The checks that ask Kafka."""

from __future__ import annotations

from collections.abc import AsyncIterator

from watchline.cli.doctor.check import Check, failure, judge_lag, judge_topics
from watchline.cli.lag import committed_offsets, end_offsets, lag
from watchline.cli.reach import kafka_admin
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import WatchlineError
from watchline.schemas.topics import Topics
from watchline.streams.topics import check_topics


async def check_kafka(kafka: KafkaConnection, topics: Topics, partitions: int) -> AsyncIterator[Check]:
    """Broker, topics and the lag of the streams; the later ones only if the broker answers."""
    try:
        yield Check("Kafka", "ok", await _describe(kafka))
        yield judge_topics(await check_topics(kafka, topics, partitions=partitions), partitions)
        yield judge_lag("streams", await _streams_lag(kafka, topics))
    except WatchlineError as error:
        yield failure("Kafka", error)


async def _describe(kafka: KafkaConnection) -> str:
    async with kafka_admin(kafka) as admin:
        cluster = await admin.describe_cluster()
    count = len(cluster["brokers"])
    brokers = "1 broker" if count == 1 else f"{count} brokers"
    return f"{brokers} at {kafka.bootstrap_servers}, cluster {cluster.get('cluster_id') or 'without id'}"


async def _streams_lag(kafka: KafkaConnection, topics: Topics) -> int | None:
    ends = await end_offsets(kafka, topics.sources)
    reached = await committed_offsets(kafka, topics.application, ends)
    return lag(ends, reached) if reached else None
