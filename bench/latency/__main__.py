"""Time from the end of a run to its row in Postgres, and from the end of a failing run to the request to Slack.

    python -m bench.latency [--rate 500] [--seconds 20] [--warmup 5] [--rounds 3] [--broker HOST:PORT] [--json]

A streams worker, a sink and a notifier run as processes of their own, as `watchline dev` runs them. This process
sends starts and ends at `--rate` events a second, whatever comes back, asks Postgres over a connection of its own
every 3 ms which of the awaited ends are there, and is the Slack that is posted to: one monotonic clock for all.
An end counts from the moment that it is handed to the Kafka producer. `group_wait` is 0, and the notifier may send
as many messages as it likes: the limit of one message a second and channel is Slack's, not ours to measure. Every
round begins with servers and services of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import tempfile
import time
from pathlib import Path
from uuid import UUID

import asyncpg
import structlog
from aiokafka import AIOKafkaProducer

from bench.figures import Figure, percentile
from bench.latency.arrivals import Arrivals
from bench.latency.endings import slack, watch_rows
from bench.latency.load import Shape, send_load
from bench.latency.servers import servers_of
from bench.report import show
from watchline.cli.dev.servers import Servers
from watchline.cli.dev.stack import Stack
from watchline.cli.local.child import free_port
from watchline.cli.settings import read_topics
from watchline.schemas.errors import Unavailable

LAST_SECONDS = 30.0
UNLIMITED = {
    "WATCHLINE_SLACK_ALLOW_INSECURE": "1",
    "WATCHLINE_GROUP_WAIT_SECONDS": "0",
    "WATCHLINE_MESSAGES_PER_SECOND": "10000",
    "WATCHLINE_DIGEST_ABOVE": "10000",  # a digest does not name every pipeline
}
BUDGETS = {"row": (0.15, 1.0), "slack": (None, 2.0)}  # p50 and p99, in seconds

Round = dict[str, list[float]]


def measure(shape: Shape, rounds: int, address: str | None) -> list[Round]:
    """The seconds that everything took, by way, for each round; every round has a stack of its own.

    The embedded broker slows down as its log grows, which is nothing that a round should inherit.
    """
    found = []
    for number in range(rounds):
        port = free_port()
        environment = {**UNLIMITED, "WATCHLINE_SLACK_WEBHOOK_URL": f"http://127.0.0.1:{port}/services/bench"}
        with tempfile.TemporaryDirectory(prefix="watchline-bench-") as folder:
            servers = servers_of(Path(folder), address, prefix=f"bench-{os.getpid()}-{number}")
            with Stack(
                Path(folder), servers, announce=lambda _: None, show_alert=lambda _: None, environment=environment
            ) as stack:
                found.append(asyncio.run(measure_round(servers, port, shape)))
                stack.check()
    return found


async def measure_round(servers: Servers, port: int, shape: Shape) -> Round:
    """One round: warm-up, load, and the wait for the last to arrive."""
    rows, requests = Arrivals[UUID](), Arrivals[str]()
    connection = await asyncpg.connect(servers.dsn)
    async with slack(port, requests), AIOKafkaProducer(**servers.kafka.client_arguments(), acks="all") as producer:
        watching = asyncio.create_task(watch_rows(connection, rows))
        try:
            reached = await send_load(producer, read_topics().runs, shape, rows, requests)
            await drain(rows, requests, watching)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await connection.close()
    return {"row": rows.seconds, "slack": requests.seconds, "reached": [reached]}


async def drain(rows: Arrivals[UUID], requests: Arrivals[str], watching: asyncio.Task[None]) -> None:
    """Wait until nothing is on its way any more."""
    deadline = time.monotonic() + LAST_SECONDS
    while rows.waiting or requests.waiting:
        if watching.done():
            watching.result()
        if time.monotonic() > deadline:
            missing = f"{len(rows.waiting)} rows and {len(requests.waiting)} requests"
            raise Unavailable(f"{missing} have not arrived {LAST_SECONDS:g} s after the load")
        await asyncio.sleep(0.05)


def figures_of(rounds: list[Round], rate: int) -> list[Figure]:
    """p50 and p99 of both ways, in milliseconds."""
    figures = []
    names = {"row": "end of a run to its row", "slack": "failing end to Slack request"}
    for way, title in names.items():
        for share, budget in zip((0.5, 0.99), BUDGETS[way], strict=True):
            values = tuple(percentile(one[way], share) * 1000 for one in rounds)
            limit = None if budget is None else budget * 1000
            figures.append(Figure(f"{title}, p{share * 100:g}", "ms", values, limit))
    reached = tuple(one["reached"][0] for one in rounds)
    figures.append(Figure("– under a load of", "events/s", reached, ratio=f"wanted: {rate}"))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=int, default=500, help="events a second, half of them ends")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--warmup", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--broker", help="host:port; without it an embedded broker")
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as a table")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    rounds = measure(Shape(options.rate, options.warmup, options.seconds), options.rounds, options.broker)
    show("latency", figures_of(rounds, options.rate), as_json=options.json)


if __name__ == "__main__":
    main()
