"""What a run stands on: a broker and a Postgres of its own, proxies on the links, a Slack, and the services."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psutil  # type: ignore[import-untyped]  # ships no types
from aiokafka.errors import KafkaError

from brokers.apache import REPOSITORY, ApacheBroker
from brokers.cluster import ApacheCluster
from brokers.databases import Postgres, create_database
from faults.chaos.fleet import Fleet
from faults.chaos.log import PARTITIONS
from network.kafka import KafkaProxy
from network.proxy import Proxy
from slack.fake import FakeSlack
from stack.services import services
from watchline.cli.local.broker import EmbeddedBroker
from watchline.cli.local.postgres import EmbeddedPostgres
from watchline.cli.reach import kafka_admin
from watchline.consumers.migrations import migrate
from watchline.schemas import KafkaConnection, Topics
from watchline.schemas.errors import WatchlineError

SESSION_SECONDS = 4
IN_SYNC_SECONDS = 90.0
CACHE = Path(os.environ.get("WATCHLINE_CACHE_DIR") or REPOSITORY / ".cache")
Kafka = ApacheBroker | ApacheCluster | EmbeddedBroker
SETTINGS = {
    "WATCHLINE_BATCH_SIZE": "500",
    "WATCHLINE_SESSION_TIMEOUT_SECONDS": str(SESSION_SECONDS),
    "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6",
    "WATCHLINE_COMMIT_INTERVAL_SECONDS": "0.5",
    "WATCHLINE_PULSE_SECONDS": "1",
    "WATCHLINE_SETTLE_SECONDS": "0",  # so that verdicts of absence follow from the log alone
    "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
    "WATCHLINE_GROUP_WAIT_SECONDS": "0",
    "WATCHLINE_GROUP_INTERVAL_SECONDS": "0",
    "WATCHLINE_MESSAGES_PER_SECOND": "1000",
    "WATCHLINE_DIGEST_ABOVE": "100000",  # a digest names only some
    "WATCHLINE_LEASE_SECONDS": "2",
    "WATCHLINE_POLL_SECONDS": "0.1",
    "WATCHLINE_REQUEST_TIMEOUT_SECONDS": "1.5",
    "WATCHLINE_RETRY_MAX_SECONDS": "2",
}


@dataclass
class Ground:
    """All parts, running; jobs, workers and sinks reach one broker through `kafka_link`, sinks Postgres by theirs."""

    folder: Path
    broker: Kafka
    postgres: EmbeddedPostgres
    slack: FakeSlack
    topics: Topics
    dsn: str  # direct, for those who check
    jobs_address: str  # of the broker, through the proxy if there is one
    kafka_link: KafkaProxy | None
    sinks_link: Proxy
    fleet: Fleet
    hands: ThreadPoolExecutor  # threads that outlive what they start: a child ends with its thread

    @property
    def address(self) -> str:
        """Of the broker, past the proxies."""
        return address_of(self.broker)

    async def do(self, blocking: Callable[[], object]) -> None:
        """Run something that blocks in a thread that stays."""
        await asyncio.get_running_loop().run_in_executor(self.hands, blocking)

    def kill_postgres(self) -> None:
        """SIGKILL to the server and its children: an orphan would keep the next one from starting."""
        server = psutil.Process(self.postgres.child.pid)
        family = [server, *server.children(recursive=True)]
        for each in family:
            with suppress(psutil.NoSuchProcess):  # it went with its server
                each.send_signal(signal.SIGKILL)
        self.postgres.child.kill()
        psutil.wait_procs(family, timeout=10)


@asynccontextmanager
async def open_ground(
    folder: Path, environment: Mapping[str, str], *, apache: bool, nodes: int
) -> AsyncIterator[Ground]:
    """Start everything that does not suffer alone; the services are placed and not started."""
    async with AsyncExitStack() as stack:
        hands = stack.enter_context(ThreadPoolExecutor(8))
        loop = asyncio.get_running_loop()
        broker = await loop.run_in_executor(hands, lambda: start_broker(folder, apache=apache, nodes=nodes))
        stack.push_async_callback(loop.run_in_executor, hands, broker.stop)
        postgres = EmbeddedPostgres(folder / "postgres")
        await loop.run_in_executor(hands, postgres.start)
        stack.push_async_callback(loop.run_in_executor, hands, postgres.stop)
        yield await _furnish(stack, folder, environment, broker, postgres, hands)


def start_broker(folder: Path, *, apache: bool, nodes: int) -> Kafka:
    if not apache:
        return EmbeddedBroker(folder / "broker.log").start()
    if nodes > 1:
        cluster = ApacheCluster(folder / "apache", cache=CACHE, nodes=nodes)
        cluster.start()
        return cluster
    broker = ApacheBroker(folder / "apache", cache=CACHE)
    broker.start()
    return broker


def address_of(broker: Kafka) -> str:
    """What clients that are not harmed connect to."""
    return broker.address if isinstance(broker, EmbeddedBroker) else broker.bootstrap_servers


async def _furnish(
    stack: AsyncExitStack,
    folder: Path,
    environment: Mapping[str, str],
    broker: Kafka,
    postgres: EmbeddedPostgres,
    hands: ThreadPoolExecutor,
) -> Ground:
    topics = Topics(prefix=f"chaos{uuid4().hex[:8]}")
    address = address_of(broker)
    dsn = await create_database(Postgres(postgres.dsn), "watchline")
    await migrate(dsn)
    slack = await stack.enter_async_context(FakeSlack())
    kafka_link = None
    if isinstance(broker, ApacheBroker):
        kafka_link = KafkaProxy("127.0.0.1", broker.proxied_port, listen_port=broker.advertised_port)
        await stack.enter_async_context(kafka_link)
    sinks_link = await stack.enter_async_context(Proxy("127.0.0.1", int(postgres.address.split(":")[1])))
    jobs_address = address if kafka_link is None else kafka_link.address
    logs = folder / "logs"
    logs.mkdir()
    more = {**SETTINGS, "WATCHLINE_SLACK_WEBHOOK_URL": slack.url, "WATCHLINE_PARTITIONS": str(PARTITIONS)}
    if isinstance(broker, EmbeddedBroker):
        more["WATCHLINE_SESSION_TIMEOUT_SECONDS"] = "6"  # it wants long ones
    more |= environment
    if isinstance(broker, ApacheCluster):
        more["WATCHLINE_REPLICATION_FACTOR"] = str(len(broker.nodes))
    fleet = Fleet(stack.enter_context(services(logs, jobs_address, dsn, topics, more)))
    await create_topics(fleet)
    through_proxy = urlsplit(dsn)._replace(netloc=urlsplit(dsn).netloc.replace(postgres.address, sinks_link.address))
    for number in (1, 2, 3):
        fleet.place(f"worker {number}", "streams")
    for number in (1, 2):
        fleet.place(f"sink {number}", "sink", WATCHLINE_POSTGRES_DSN=through_proxy.geturl())
    fleet.place("notifier", "notify")
    return Ground(folder, broker, postgres, slack, topics, dsn, jobs_address, kafka_link, sinks_link, fleet, hands)


async def create_topics(fleet: Fleet) -> None:
    """As an operator does."""
    command = [sys.executable, "-m", "watchline.cli", "topics", "create"]
    process = await asyncio.create_subprocess_exec(
        *command, env=fleet.services.job_environment, stdout=asyncio.subprocess.DEVNULL
    )
    assert await process.wait() == 0, "the topics could not be made"


async def wait_in_sync(ground: Ground) -> None:
    """Return when every copy of every topic of ours has caught up with its leader."""
    names = [spec.name for spec in ground.topics.specs()]
    async with asyncio.timeout(IN_SYNC_SECONDS):
        while not await is_in_sync(ground.address, names):
            await asyncio.sleep(0.5)


async def is_in_sync(bootstrap_servers: str, names: list[str]) -> bool:
    try:
        async with kafka_admin(KafkaConnection(bootstrap_servers=bootstrap_servers)) as admin:
            described = await admin.describe_topics(names)
    except (KafkaError, WatchlineError):  # a node that answers may still not know of the others
        return False
    return all(len(part["isr"]) == len(part["replicas"]) for topic in described for part in topic["partitions"])
