"""One job in every world: it ends as without us, says little, and accounts for each event."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from brokers.apache import ApacheBroker
from brokers.kinds import Broker
from brokers.topics import create_topics
from harm.bounds import assert_unharmed
from harm.conftest import Bare
from harm.lives import Account, Life, live
from harm.records import events_in_log, events_in_outbox, ids_of
from harm.worlds import World, blackhole, dying, full_disk, no_name, nobody
from network.kafka import PRODUCE, KafkaProxy, behind
from network.proxy import in_a_thread
from watchline.schemas import Topics

EVENTS = 81
MOST_LINES = 3  # Kafka away, the disk away, the account
Make = Callable[[Path], AbstractContextManager[World]]


@pytest.mark.parametrize("make", [nobody, no_name, blackhole, dying])
def test_without_kafka_every_event_is_acknowledged_or_on_disk(
    make: Make, bare: Bare, tmp_path: Path, outbox: Path
) -> None:
    without = bare("plain")

    with make(tmp_path) as world:
        watched = run_in(world, tmp_path, outbox)

    account = account_of(watched)
    assert_unharmed(watched, without)
    assert account.acknowledged + account.spooled == EVENTS
    assert len(ids_of(events_in_outbox(outbox))) == account.spooled


def test_on_a_full_disk_every_event_is_counted_as_lost_and_the_loss_is_said(
    bare: Bare, tmp_path: Path, outbox: Path
) -> None:
    without = bare("plain")

    with full_disk(tmp_path) as world:
        watched = run_in(world, tmp_path, outbox)

    account = account_of(watched)
    assert_unharmed(watched, without)
    assert account.reasons == {"outbox_failed": EVENTS}
    assert "No space left on device" in watched.err
    assert f"dropped {EVENTS}" in watched.err


@pytest.fixture
def proxy(broker: Broker) -> Iterator[KafkaProxy]:
    if not isinstance(broker, ApacheBroker):
        pytest.skip("only Apache Kafka from its jars advertises the address of a proxy")
    with in_a_thread(behind(broker)) as started:
        yield started


def slow(proxy: KafkaProxy) -> World:
    """Everything takes 0.2 s each way."""
    proxy.delay(0.2)
    return World(proxy.address)


def crawling(proxy: KafkaProxy) -> World:
    """Everything takes longer than the job may wait at its exit."""
    proxy.delay(3.0)
    return World(proxy.address)


def cut(proxy: KafkaProxy) -> World:
    """The connection is cut amid the job, and stays so."""
    return World(proxy.address, at_pause=proxy.cut)


def silent(proxy: KafkaProxy) -> World:
    """The broker falls silent amid the job."""
    return World(proxy.address, at_pause=proxy.blackhole)


def forgetful(proxy: KafkaProxy) -> World:
    """The broker takes what is sent, and its answers are lost."""
    return World(proxy.address, at_pause=lambda: proxy.drop_responses(PRODUCE))


@pytest.mark.durable("it can't advertise the address of a proxy")
@pytest.mark.parametrize("make", [slow, crawling, cut, silent, forgetful])
async def test_behind_a_bad_network_no_event_is_lost_and_the_next_job_delivers_the_rest(
    make: Callable[[KafkaProxy], World],
    proxy: KafkaProxy,
    topics: Topics,
    broker: Broker,
    bare: Bare,
    tmp_path: Path,
    outbox: Path,
) -> None:
    without = bare("plain")

    world = make(proxy)
    watched = await asyncio.to_thread(run_in, world, tmp_path, outbox, WATCHLINE_TOPIC_PREFIX=topics.prefix)
    proxy.heal()
    healed = World(broker.bootstrap_servers)
    (tmp_path / "next").mkdir()
    await asyncio.to_thread(run_in, healed, tmp_path / "next", outbox, WATCHLINE_TOPIC_PREFIX=topics.prefix)

    account = account_of(watched)
    log = await events_in_log(broker.bootstrap_servers, (topics.pipelines, topics.runs))
    assert_unharmed(watched, without)
    assert (account.pending, account.dropped) == (0, 0)
    assert len(ids_of(log + events_in_outbox(outbox))) == 2 * EVENTS
    assert len({str(sorted(event.items(), key=str)) for event in log}) == len(ids_of(log))


@pytest.mark.faults
async def test_a_broker_that_is_killed_amid_a_job_has_what_it_acknowledged_when_it_is_back(
    killable_broker: ApacheBroker, bare: Bare, tmp_path: Path, outbox: Path
) -> None:
    topics = Topics("killed")
    await create_topics(killable_broker.bootstrap_servers, topics.specs(), partitions=4)
    without = bare("plain")

    world = World(killable_broker.bootstrap_servers, at_pause=killable_broker.kill)
    watched = await asyncio.to_thread(run_in, world, tmp_path, outbox, WATCHLINE_TOPIC_PREFIX=topics.prefix)
    await asyncio.to_thread(killable_broker.restart)

    account = account_of(watched)
    log = await events_in_log(killable_broker.bootstrap_servers, (topics.pipelines, topics.runs))
    waiting = ids_of(events_in_outbox(outbox))
    assert_unharmed(watched, without)
    assert (len(waiting), account.dropped) == (account.spooled, 0)
    assert len(ids_of(log) | waiting) == EVENTS


def run_in(world: World, folder: Path, outbox: Path, **more: str) -> Life:
    """A life of the plain job in a world."""
    settings = {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": world.address, "WATCHLINE_OUTBOX_DIR": str(outbox)}
    return live("plain", folder / "life", settings | more, within=world.within, at_pause=world.at_pause)


def account_of(life: Life) -> Account:
    """The account of a job of one process, which adds up and is not hidden among other lines."""
    (account,) = life.accounts
    assert account.adds_up
    assert account.emitted == EVENTS
    assert len(life.said) <= MOST_LINES, life.said
    return account
