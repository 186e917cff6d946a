"""Doing what a fault says, and undoing it when its time is over."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from brokers.apache import ApacheBroker
from brokers.cluster import ApacheCluster
from faults.chaos.ground import Ground, wait_in_sync
from faults.chaos.load import Load, Mode
from faults.chaos.schedule import Fault
from network.kafka import PRODUCE, KafkaProxy
from network.proxy import Proxy
from slack.fake import HANG, OK, RESET, Answer
from watchline.schemas.topics import TABLES

Injector = Callable[[Ground, Load, Fault], AbstractAsyncContextManager[None]]
ONCE_MORE = Answer(429, "rate_limited", {"Retry-After": "1"})
ILL = Answer(500, "internal_error")
DELAY_SECONDS = 0.2


async def inject(ground: Ground, load: Load, fault: Fault) -> None:
    """Do it, keep it up for as long as it lasts, undo it; returns when the part may work again."""
    async with INJECTORS[fault.kind](ground, load, fault):
        await asyncio.sleep(fault.seconds)


@asynccontextmanager
async def killed(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    ground.fleet.kill(fault.hits)
    yield
    ground.fleet.start(fault.hits)


@asynccontextmanager
async def stopped(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    await ground.fleet.stop(fault.hits)
    yield
    ground.fleet.start(fault.hits)


@asynccontextmanager
async def frozen(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    ground.fleet.send(fault.hits, signal.SIGSTOP)
    yield
    ground.fleet.send(fault.hits, signal.SIGCONT)


@asynccontextmanager
async def joins_and_leaves(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    ground.fleet.start(fault.hits)
    yield
    await ground.fleet.stop(fault.hits)


@asynccontextmanager
async def joins_and_dies(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    ground.fleet.start(fault.hits)
    yield
    ground.fleet.kill(fault.hits)


@asynccontextmanager
async def broker_down(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    broker = ground.broker
    assert isinstance(broker, ApacheBroker)
    await ground.do(broker.kill if fault.kind == "broker killed" else broker.stop)
    yield
    await ground.do(broker.start)


@asynccontextmanager
async def node_down(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    """One of the nodes at a time, each in its turn."""
    cluster = ground.broker
    assert isinstance(cluster, ApacheCluster)
    node = cluster.nodes[fault.number % len(cluster.nodes)]
    if fault.kind == "node killed":
        await ground.do(lambda: cluster.kill(node))
    yield
    await ground.do(lambda: cluster.restart(node))
    await wait_in_sync(ground)  # else two of three are away for those that must agree


@asynccontextmanager
async def postgres_down(ground: Ground, _: Load, fault: Fault) -> AsyncIterator[None]:
    await ground.do(ground.kill_postgres if fault.kind == "Postgres killed" else ground.postgres.stop)
    yield
    await ground.do(ground.postgres.start)


def link(choose: Callable[[Ground], Proxy | None], harm: Callable[[Ground, Proxy], None]) -> Injector:
    @asynccontextmanager
    async def harmed(ground: Ground, _: Load, __: Fault) -> AsyncIterator[None]:
        proxy = choose(ground)
        assert proxy is not None, "this broker has no such link"
        harm(ground, proxy)
        yield
        proxy.heal()

    return harmed


def slack_answers(answer: Answer) -> Injector:
    @asynccontextmanager
    async def answering(ground: Ground, _: Load, __: Fault) -> AsyncIterator[None]:
        ground.slack.default = answer
        yield
        ground.slack.default = OK

    return answering


def load_has(mode: Mode) -> Injector:
    @asynccontextmanager
    async def having(_: Ground, load: Load, __: Fault) -> AsyncIterator[None]:
        load.modes.add(mode)
        yield
        load.modes.discard(mode)

    return having


def lose_answers(_: Ground, proxy: Proxy) -> None:
    assert isinstance(proxy, KafkaProxy)
    proxy.drop_responses(PRODUCE)


def block_changelogs(ground: Ground, proxy: Proxy) -> None:
    assert isinstance(proxy, KafkaProxy)
    for table in TABLES:
        proxy.block(PRODUCE, ground.topics.changelog(table).encode())


def cut(_: Ground, proxy: Proxy) -> None:
    proxy.cut()


def slow_down(_: Ground, proxy: Proxy) -> None:
    proxy.delay(DELAY_SECONDS)


def silence(_: Ground, proxy: Proxy) -> None:
    proxy.blackhole()


def sinks(ground: Ground) -> Proxy | None:
    return ground.sinks_link


def kafka(ground: Ground) -> Proxy | None:
    return ground.kafka_link


INJECTORS: dict[str, Injector] = {
    **{f"{part} killed": killed for part in ("worker", "sink", "notifier")},
    **{f"{part} stopped": stopped for part in ("worker", "sink", "notifier")},
    **{f"{part} frozen": frozen for part in ("worker", "sink", "notifier")},
    **{f"{part} joins and leaves": joins_and_leaves for part in ("worker", "sink")},
    **{f"{part} joins and dies": joins_and_dies for part in ("worker", "sink")},
    "broker killed": broker_down,
    "broker restarted": broker_down,
    "node killed": node_down,
    "node restarted": node_down,
    "Postgres killed": postgres_down,
    "Postgres restarted": postgres_down,
    "sink cut from Postgres": link(sinks, cut),
    "sink deaf to Postgres": link(sinks, silence),
    "answers to sends lost": link(kafka, lose_answers),
    "all cut from Kafka": link(kafka, cut),
    "Kafka slow": link(kafka, slow_down),
    "changelog blocked": link(kafka, block_changelogs),
    "Slack says 429": slack_answers(ONCE_MORE),
    "Slack says 500": slack_answers(ILL),
    "Slack hangs": slack_answers(HANG),
    "Slack resets": slack_answers(RESET),
    "duplicates": load_has("duplicates"),
    "shuffled windows": load_has("shuffled windows"),
    "poison": load_has("poison"),
}
