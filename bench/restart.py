"""Time until a streams worker that starts anew has its tables back from the changelog.

    python -m bench.restart --broker HOST:PORT [--pipelines 100000] [--rounds 3] [--json]

Needs a Kafka that keeps its log: the embedded broker reports a wrong end offset, so a recovery from it proves nothing.
The three changelogs get a row of every pipeline, that of `runs` in its full size, then `watchline streams` is started
and stopped. Measured is from the start of the process until it is ready: tables recovered, partitions assigned. The
topics, under a prefix of their own (`bench-…`), stay on the broker.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import time
from pathlib import Path

import structlog
from aiokafka import AIOKafkaProducer

from bench.figures import Figure
from bench.memory import PARTITIONS, SAMPLES, Worker, fold_runs, name_of
from bench.report import show
from watchline.cli.local.child import Child
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.rows import RunsRow, decode_row, encode_row
from watchline.streams.topics import create_topics

BUDGET_SECONDS = 30.0
GIVE_UP_SECONDS = 300.0


def rows_of(count: int) -> list[list[bytes]]:
    """Rows of runs of full size as each partition stores them; their offsets are before all that may be read."""
    samples = [decode_row(RunsRow, fold_runs(number, together=True)[0]) for number in range(count)]
    rows: list[list[bytes]] = []
    for partition in range(PARTITIONS):
        for sample in samples:
            sample.partition, sample.offset = partition, -1
        rows.append([encode_row(sample) for sample in samples])
    return rows


async def fill(kafka: KafkaConnection, topics: Topics, pipelines: int) -> None:
    """Make the topics and write the changelogs of a worker that has seen `pipelines` for long."""
    await create_topics(kafka, topics, partitions=PARTITIONS, replication_factor=1)
    runs, worker = rows_of(min(SAMPLES, pipelines)), Worker()
    worker.add_declarations(pipelines)
    worker.add_watermarks(pipelines)
    async with AIOKafkaProducer(**kafka.client_arguments(), linger_ms=20, max_batch_size=262_144) as producer:
        for number in range(pipelines):
            key, partition = worker.homes.of(name_of(number))
            rows = {
                "runs": runs[partition][number % len(runs[partition])],
                "declarations": worker.declarations.data[key],
                "watermarks": worker.watermarks.data[key],
            }
            for table, row in rows.items():
                await producer.send(topics.changelog(table), row, key=key, partition=partition)
        await producer.flush()


def start_worker(folder: Path, kafka: KafkaConnection, topics: Topics, turn: int) -> float:
    """Seconds from the start of a worker until it is ready; it is stopped again."""
    ready = folder / f"{turn}.ready"
    began = time.monotonic()
    child = Child(
        "the streams worker",
        [sys.executable, "-m", "watchline.cli", "streams"],
        log=folder / f"{turn}.log",
        environment={
            "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
            "WATCHLINE_TOPIC_PREFIX": topics.prefix,
            "WATCHLINE_READY_FILE": str(ready),
        },
    )
    try:
        child.wait_until(ready.exists, seconds=GIVE_UP_SECONDS)
        return time.monotonic() - began
    finally:
        child.stop(seconds=30)


def measure(address: str, pipelines: int, rounds: int) -> list[Figure]:
    """The restart of each round."""
    kafka, topics = KafkaConnection(bootstrap_servers=address), Topics(f"bench-{os.getpid()}")
    asyncio.run(fill(kafka, topics, pipelines))
    with tempfile.TemporaryDirectory(prefix="watchline-bench-") as folder:
        seconds = tuple(start_worker(Path(folder), kafka, topics, turn) for turn in range(rounds))
    return [Figure(f"restart of a worker with {pipelines:,} pipelines", "s", seconds, BUDGET_SECONDS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", required=True, help="host:port of a Kafka that keeps its log")
    parser.add_argument("--pipelines", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as a table")
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    show("restart", measure(options.broker, options.pipelines, options.rounds), as_json=options.json)


if __name__ == "__main__":
    main()
