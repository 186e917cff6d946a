"""CPU per event of the streams: a naive Faust agent, our transport with the same fold, and the whole product.

    python -m bench.streams [--events 40000] [--rounds 3] [--engines naive,transport] [--broker HOST:PORT] [--json]

Every engine works off the same backlog in a process of its own; rounds interleave the engines so that they share the
machine's moods; medians are reported. CPU is that of the process, from the first event that it has done to the last.

naive      one `table[key] = value` per event, JSON by Faust, stock classes and settings
transport  the same fold on `watchline.streams.transport`: raw bytes, batches, one row per key and batch
product    any application: `--product module:function`, called with nothing in an environment of `WATCHLINE_*`
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import faust
import orjson
from aiokafka import AIOKafkaProducer
from faust.contrib.asgi import faust_app_running
from faust.types import StreamT
from rich.console import Console
from rich.table import Table

from watchline.cli.local.broker import EmbeddedBroker
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics
from watchline.streams.topics import create_topics
from watchline.streams.transport import BatchStream, StateTable, make_app

PARTITIONS = 8
PIPELINES = 2000
NAIVE_SHARE = 4  # of the backlog the naive engine gets one in four: it is slow
BUDGET_US = 40.0
POLL_SECONDS = 0.01
DEADLINE_SECONDS = 300.0
PRODUCT = "bench.streams:product_application"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one engine needed for its part of the backlog."""

    engine: str
    events: int
    cpu_us: float  # per event
    wall_us: float  # per event
    peak_mib: float


@dataclass(frozen=True, slots=True)
class Engine:
    """An application and how many source events it has done so far."""

    app: faust.App
    done: Callable[[], int]


def naive(kafka: KafkaConnection, topics: Topics) -> Engine:
    """What somebody writes who has read Faust's tutorial."""
    app = faust.App(
        topics.application,
        broker=f"kafka://{kafka.bootstrap_servers}",
        topic_partitions=PARTITIONS,
        table_standby_replicas=0,
        broker_session_timeout=6.0,
        broker_heartbeat_interval=1.0,
        broker_rebalance_timeout=6.0,
        web_enabled=False,
        datadir=tempfile.mkdtemp(),
    )
    rows = app.Table("runs", partitions=PARTITIONS)
    done = 0

    @app.agent(app.topic(topics.runs, key_type=str, key_serializer="raw"))
    async def count(stream: Any) -> None:
        nonlocal done
        async for key, event in stream.items():
            row = rows.get(key) or {"runs": 0, "rows": 0}
            rows[key] = {"runs": row["runs"] + 1, "rows": row["rows"] + event["total_rows"]}
            done += 1

    return Engine(app, lambda: done)


def transport(kafka: KafkaConnection, topics: Topics) -> Engine:
    """The same fold and the same row, by our transport."""
    app = make_app(
        app_id=topics.application,
        kafka=kafka,
        partitions=PARTITIONS,
        session_timeout=6.0,
        rebalance_timeout=6.0,
        data_dir=tempfile.mkdtemp(),
    )
    rows = cast(StateTable, app.Table("runs", key_type=bytes, value_type=bytes, partitions=PARTITIONS))
    source = app.topic(topics.runs, key_type=bytes, value_type=bytes, value_serializer="raw")
    done = 0

    @app.agent(source)
    async def count(stream: StreamT[bytes]) -> None:
        nonlocal done
        async for events in cast(BatchStream, stream).take_events(1000):
            changed: dict[int, dict[bytes, dict[str, int]]] = {}
            for event in events:
                mine = changed.setdefault(event.message.partition, {})
                key = cast(bytes, event.key)
                raw = rows.data.get(key)
                row = mine.get(key) or (orjson.loads(raw) if raw else {"runs": 0, "rows": 0})
                total = orjson.loads(event.value)["total_rows"]
                mine[key] = {"runs": row["runs"] + 1, "rows": row["rows"] + total}
            encoded: dict[int, dict[bytes, bytes | None]] = {
                partition: {key: orjson.dumps(row) for key, row in mine.items()} for partition, mine in changed.items()
            }
            await asyncio.gather(*await rows.put_many(encoded))
            done += len(events)

    return Engine(app, lambda: done)


def product(kafka: KafkaConnection, topics: Topics, factory: str) -> Engine:
    """Whatever `factory` builds from its environment; what it has done is what its consumer could commit."""
    os.environ |= {
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix,
        "WATCHLINE_PARTITIONS": str(PARTITIONS),
        "WATCHLINE_SESSION_TIMEOUT_SECONDS": "6",
        "WATCHLINE_REBALANCE_TIMEOUT_SECONDS": "6",
    }
    module, name = factory.split(":")
    app: Any = getattr(importlib.import_module(module), name)()

    def done() -> int:
        return sum(offset for tp, offset in app.consumer.finished.items() if tp.topic == topics.runs)

    return Engine(app, done)


def product_application() -> faust.App:
    """The application that `watchline streams` runs."""
    settings = importlib.import_module("watchline.streams.settings")
    application = importlib.import_module("watchline.streams.application")
    app: faust.App = application.build_application(settings.StreamsSettings())
    return app


async def measure(name: str, engine: Engine, events: int) -> Measured:
    """Run the engine until it has done `events`, and say what that took."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    async with faust_app_running(engine.app):
        while not (first := engine.done()):
            await poll(deadline, engine)
        cpu, wall = time.process_time(), time.perf_counter()
        while (last := engine.done()) < events:
            await poll(deadline, engine)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    number = last - first
    return Measured(name, number, cpu / number * 1e6, wall / number * 1e6, peak)


async def poll(deadline: float, engine: Engine) -> None:
    """Wait a moment, but not for ever."""
    if time.monotonic() > deadline:
        raise SystemExit(f"only {engine.done()} events done in {DEADLINE_SECONDS:.0f} s")
    await asyncio.sleep(POLL_SECONDS)


def run_ended(number: int) -> tuple[bytes, bytes]:
    """Key and value of one ended run with the six default metrics."""
    key = f"pipeline_{number % PIPELINES:05d}"
    minute, second = divmod(number // PIPELINES, 60)
    event = {
        "event_id": str(UUID(int=number)),
        "event_type": "run.ended",
        "schema_version": 1,
        "occurred_at": f"2026-11-30T{minute // 60 % 24:02d}:{minute % 60:02d}:{second:02d}+00:00",
        "pipeline": key,
        "run_id": str(UUID(int=1 << 64 | number)),
        "status": "succeeded",
        "duration_ms": 60_000 + number * 37 % 9000,
        "inserts": 1000 + number * 13 % 400,
        "updates": 300 + number * 7 % 90,
        "deletes": number * 3 % 20,
        "total_rows": 90_000 + number * 17 % 5000,
    }
    return key.encode(), orjson.dumps(event)


async def prepare(kafka: KafkaConnection, topics: Topics, events: int) -> None:
    """Make the topics and fill the source with the backlog."""
    await create_topics(kafka, topics, partitions=PARTITIONS, replication_factor=1)
    async with AIOKafkaProducer(**kafka.client_arguments(), linger_ms=20, max_batch_size=262_144) as producer:
        sent = []
        for number in range(events):
            key, value = run_ended(number)
            sent.append(await producer.send(topics.runs, value, key=key, partition=number % PIPELINES % PARTITIONS))
        await asyncio.gather(*sent)


def run_in_child(name: str, address: str, prefix: str, events: int, factory: str) -> Measured:
    """One engine in a process of its own."""
    command = [sys.executable, "-m", "bench.streams", "--child", name, "--broker", address, "--prefix", prefix]
    command += ["--events", str(events), "--product", factory]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{name} failed:\n{result.stderr[-3000:]}")
    return Measured(**json.loads(result.stdout.strip().splitlines()[-1]))


def child(options: argparse.Namespace) -> None:
    """What a child does: build one engine, measure it, print one line of JSON."""
    kafka, topics = KafkaConnection(bootstrap_servers=options.broker), Topics(options.prefix)

    async def work() -> Measured:
        makers: dict[str, Callable[[], Engine]] = {
            "naive": lambda: naive(kafka, topics),
            "transport": lambda: transport(kafka, topics),
            "product": lambda: product(kafka, topics, options.product),
        }
        return await measure(options.child, makers[options.child](), options.events)

    print(json.dumps(asdict(asyncio.run(work()))))


@contextmanager
def broker(address: str | None) -> Iterator[str]:
    """The broker of that address, or the embedded one for as long as this lasts."""
    if address is not None:
        yield address
        return
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(Path(folder) / "broker.log") as embedded:
        yield embedded.address


def run(options: argparse.Namespace) -> list[Measured]:
    """All rounds; every engine of every round has a broker's topics of its own."""
    results: list[Measured] = []
    for turn in range(options.rounds):
        for name in options.engines.split(","):
            with broker(options.broker) as address:  # the embedded broker slows down as its log grows
                prefix = f"bench-{os.getpid()}-{turn}-{name}"
                kafka = KafkaConnection(bootstrap_servers=address)
                events = options.events // NAIVE_SHARE if name == "naive" else options.events
                asyncio.run(prepare(kafka, Topics(prefix), events))
                results.append(run_in_child(name, address, prefix, events, options.product))
    return results


def summary(results: list[Measured]) -> dict[str, dict[str, float]]:
    """Medians per engine, and how many times less CPU than the naive one each needs."""
    engines = dict.fromkeys(result.engine for result in results)
    figures: dict[str, dict[str, float]] = {}
    for name in engines:
        mine = [result for result in results if result.engine == name]
        cpu = [result.cpu_us for result in mine]
        figures[name] = {
            "cpu_us": round(statistics.median(cpu), 1),
            "cpu_us_min": round(min(cpu), 1),
            "cpu_us_max": round(max(cpu), 1),
            "events_per_core_second": round(1e6 / statistics.median(cpu)),
            "wall_us": round(statistics.median(result.wall_us for result in mine), 1),
            "peak_mib": round(statistics.median(result.peak_mib for result in mine)),
        }
    if "naive" in figures:
        for figure in figures.values():
            figure["times_below_naive"] = round(figures["naive"]["cpu_us"] / figure["cpu_us"], 1)
    return figures


def show(figures: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    """The table, and the budget that it is to be read against."""
    table = Table(title=f"Streams: CPU per event, {options.events:,} events, {options.rounds} rounds")
    columns = ("engine", "CPU µs/event", "range", "events/s and core", "wall µs/event", "peak MiB", "x below naive")
    for column in columns:
        table.add_column(column, justify="left" if column == "engine" else "right")
    for name, figure in figures.items():
        table.add_row(
            name,
            f"{figure['cpu_us']:.1f}",
            f"{figure['cpu_us_min']:.1f}-{figure['cpu_us_max']:.1f}",
            f"{figure['events_per_core_second']:,.0f}",
            f"{figure['wall_us']:.1f}",
            f"{figure['peak_mib']:.0f}",
            f"{figure['times_below_naive']:.1f}" if "times_below_naive" in figure else "-",
        )
    console = Console(width=max(Console().width, 100))
    console.print(table)
    console.print(f"budget: Faust's own part (transport, its fold included) at most {BUDGET_US:.0f} µs of CPU an event")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="naive,transport", help="comma-separated: naive, transport, product")
    parser.add_argument("--broker", help="host:port; without it an embedded broker per run")
    parser.add_argument("--product", default=PRODUCT, help="module:function that builds the application")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--prefix", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options)
        return
    figures = summary(run(options))
    if options.json:
        print(json.dumps({"events": options.events, "rounds": options.rounds, "engines": figures}))
    else:
        show(figures, options)


if __name__ == "__main__":
    main()
