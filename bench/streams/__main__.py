"""CPU per event of the streams: a naive Faust agent, our transport with the same fold, and the whole product.

    python -m bench.streams [--events 40000] [--rounds 3] [--engines naive,transport] [--broker HOST:PORT] [--json]

Every engine works off the same backlog in a process of its own; rounds interleave the engines so that they share the
machine's moods; medians are reported. CPU is that of the process, from the first event that it has done to the last.

naive          one `table[key] = value` per event, JSON by Faust, stock classes and settings
transport      the same fold on `watchline.streams.transport`: raw bytes, batches, one row per key and batch
naive-product  the product's own decoder and fold in the naive agent: one row and one record per event
product        any application: `--product module:function`, called with nothing in an environment of `WATCHLINE_*`
"""

from __future__ import annotations

import argparse
import asyncio
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

from faust.contrib.asgi import faust_app_running
from rich.console import Console
from rich.table import Table

from bench.parts import PRODUCT_TIMES, TRANSPORT_BUDGET_US
from bench.streams.backlog import prepare
from bench.streams.engines import PRODUCT, Engine, naive, naive_product, product, transport
from watchline.cli.local.broker import EmbeddedBroker
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.topics import Topics

NAIVE_SHARE = 4  # of the backlog the naive engines get one in four: they are slow
POLL_SECONDS = 0.01
DEADLINE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Measured:
    """What one engine needed for its part of the backlog."""

    engine: str
    events: int
    cpu_us: float  # per event
    wall_us: float  # per event
    peak_mib: float


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
            "naive-product": lambda: naive_product(kafka, topics),
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
                events = options.events // NAIVE_SHARE if name.startswith("naive") else options.events
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
    if "naive-product" in figures and "product" in figures:
        ratio = figures["naive-product"]["cpu_us"] / figures["product"]["cpu_us"]
        figures["product"]["times_below_naive_product"] = round(ratio, 1)
    return figures


def show(figures: dict[str, dict[str, float]], options: argparse.Namespace) -> None:
    """The table, and the budget that it is to be read against."""
    table = Table(title=f"Streams: CPU per event, {options.events:,} events, {options.rounds} rounds")
    table.add_column("engine", no_wrap=True)
    for column in ("CPU µs/event", "range", "events/s, core", "peak MiB", "x below naive"):
        table.add_column(column, justify="right")
    for name, figure in figures.items():
        table.add_row(
            name,
            f"{figure['cpu_us']:.1f}",
            f"{figure['cpu_us_min']:.1f}-{figure['cpu_us_max']:.1f}",
            f"{figure['events_per_core_second']:,.0f}",
            f"{figure['peak_mib']:.0f}",
            f"{figure['times_below_naive']:.1f}" if "times_below_naive" in figure else "-",
        )
    console = Console()
    console.print(table)
    console.print(
        f"budget: Faust's own part (transport, its fold included) at most {TRANSPORT_BUDGET_US:.0f} µs of CPU an event"
    )
    if "times_below_naive_product" in figures.get("product", {}):
        times = figures["product"]["times_below_naive_product"]
        console.print(
            f"budget: the product {PRODUCT_TIMES:g} times below the naive agent with the same fold; it is {times:.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--events", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engines", default="naive,transport,naive-product,product", help="comma-separated")
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
