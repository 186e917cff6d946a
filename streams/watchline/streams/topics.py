"""Making and checking the topics of one Watchline on a Kafka cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import structlog
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from watchline.schemas.connection import KafkaConnection
from watchline.schemas.errors import Misconfigured, Unavailable
from watchline.schemas.topics import Topics, TopicSpec

log = structlog.get_logger()
CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 15.0
VISIBLE_SECONDS = 15.0
POLL_SECONDS = 0.1
POLICY = "cleanup.policy"


def leader_topic(topics: Topics) -> str:
    """The topic of one partition by which Faust elects a leader; it makes it by itself unless it exists."""
    return f"{topics.application}-__assignor-__leader"


async def create_topics(
    kafka: KafkaConnection, topics: Topics, *, partitions: int, replication_factor: int
) -> list[str]:
    """Make the topics that are missing and return their names, sorted; those that exist stay as they are.

    Returns when the broker lists all of them. Raises Unavailable when the cluster does not answer,
    Misconfigured when it refuses a topic.
    """
    wanted = [(spec, partitions) for spec in topics.specs()] + [(TopicSpec(leader_topic(topics), {}), 1)]
    async with connect(kafka) as admin:
        response = await admin.create_topics(
            [NewTopic(spec.name, count, replication_factor, topic_configs=spec.config) for spec, count in wanted]
        )
        made = [name for name in map(made_topic, response.topic_errors) if name is not None]
        await wait_until_listed(admin, {spec.name: count for spec, count in wanted}, kafka)
    return sorted(made)


def made_topic(answer: Sequence[Any]) -> str | None:
    """The name of a topic that was made, None if it existed; raises Misconfigured if it is refused."""
    name, code, *rest = answer
    error = for_code(code)
    if not code:
        return str(name)
    if issubclass(error, TopicAlreadyExistsError):
        return None
    reason = (rest[0] if rest else None) or error.__name__
    raise Misconfigured(f"the broker refuses topic {name}: {reason}", hint="check rights and replication factor")


async def check_topics(kafka: KafkaConnection, topics: Topics, *, partitions: int) -> list[str]:
    """What is wrong with the topics, one sentence each; an empty list means that a worker may start.

    Raises Unavailable when the cluster does not answer.
    """
    async with connect(kafka) as admin:
        counts = await partition_counts(admin)
        present = [spec for spec in topics.specs() if spec.name in counts]
        policies = await cleanup_policies(admin, [spec.name for spec in present])
    problems = [f"topic {spec.name} is missing" for spec in topics.specs() if spec.name not in counts]
    problems += [
        f"topic {spec.name} has {counts[spec.name]} partitions instead of {partitions}"
        for spec in present
        if counts[spec.name] != partitions
    ]
    leader = leader_topic(topics)
    if counts.get(leader, 1) != 1:
        problems.append(f"topic {leader} has {counts[leader]} partitions instead of 1")
    return problems + [problem for spec in present for problem in policy_problems(spec, policies.get(spec.name))]


def policy_problems(spec: TopicSpec, policy: str | None) -> list[str]:
    """Whether a topic that keeps the last record of each key might lose some; `policy` None is not known."""
    wanted = spec.config.get(POLICY)
    if wanted is None or policy is None or policy == wanted:
        return []
    return [f"topic {spec.name} has {POLICY}={policy} instead of {wanted}: it would lose state"]


async def wait_until_listed(admin: AIOKafkaAdminClient, wanted: Mapping[str, int], kafka: KafkaConnection) -> None:
    """A new topic is known to all brokers only a moment later."""
    deadline = asyncio.get_running_loop().time() + VISIBLE_SECONDS
    while missing := wanted.keys() - (await partition_counts(admin)).keys():
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(
                f"{kafka.bootstrap_servers} does not list {', '.join(sorted(missing))} yet",
                hint="they were made: try again in a moment",
            )
        await asyncio.sleep(POLL_SECONDS)


async def partition_counts(admin: AIOKafkaAdminClient) -> dict[str, int]:
    """The number of partitions of every topic of the cluster."""
    return {
        entry["topic"]: len(entry["partitions"])
        for entry in await admin.describe_topics()
        if entry["topic"] and not entry["error_code"]
    }


async def cleanup_policies(admin: AIOKafkaAdminClient, names: Sequence[str]) -> dict[str, str]:
    """The clean-up policy of each topic, without those that the broker does not tell."""
    if not names:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, name, {POLICY: ""}) for name in names]
    try:
        responses = await admin.describe_configs(resources)
    except KafkaError as error:  # no right to ask, say: the partition counts have been checked
        log.info("policies.unchecked", error=type(error).__name__)
        return {}
    return {
        str(name): str(entry[1])
        for response in responses
        for code, _, _, name, entries in response.resources
        for entry in entries
        if not code and entry[0] == POLICY and entry[1]
    }


@asynccontextmanager
async def connect(kafka: KafkaConnection) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client, or Unavailable within seconds, naming the address."""
    admin = AIOKafkaAdminClient(**kafka.client_arguments(), request_timeout_ms=int(REQUEST_SECONDS * 1000))
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await admin.start()
    except (KafkaError, OSError, TimeoutError) as error:
        await admin.close()
        raise unavailable(kafka, error) from error
    try:
        yield admin
    except (KafkaError, OSError, TimeoutError) as error:
        raise unavailable(kafka, error) from error
    finally:
        await admin.close()


def unavailable(kafka: KafkaConnection, error: Exception) -> Unavailable:
    """Says which cluster does not answer, and why."""
    return Unavailable(
        f"Kafka at {kafka.bootstrap_servers} does not answer: {error or type(error).__name__}",
        hint="check WATCHLINE_KAFKA_BOOTSTRAP_SERVERS and the security settings, and whether the broker runs",
    )
