"""What the SDK adds to a job: whole processes with and without it, side by side, and the time of one `emit`.

Run it with `python -m bench.sdk`; without WATCHLINE_KAFKA_BOOTSTRAP_SERVERS it starts the embedded broker.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROUNDS = 7
EMITS = 20_000
ADDRESS = "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS"
WORK = "import time; time.sleep({seconds})"
REPORT = """
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="bench", owner="bench")).run() as run:
    {work}
    run.add(inserts=1, total_rows=1)
    run.advance("2026-11-30")
"""
EMIT = """
import time
from watchline.sdk import Pipeline, Watchline
client = Watchline(buffer_events=1_000_000, buffer_bytes=1 << 30)
with client.pipeline(Pipeline(name="bench")).run() as run:
    client.flush(10)
    took = []
    for _ in range(EMITS):
        began = time.perf_counter_ns()
        run.beat()
        took.append(time.perf_counter_ns() - began)
        time.sleep(0.0001)
took.sort()
print(took[len(took) // 2], took[len(took) * 99 // 100])
"""


@contextmanager
def kafka() -> Iterator[str]:
    """The address from the environment, else an embedded broker."""
    if ADDRESS in os.environ:
        yield os.environ[ADDRESS]
        return
    from watchline.cli.local.broker import EmbeddedBroker  # noqa: PLC0415 - not needed with an address

    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker(Path(folder) / "broker.log") as broker:
        yield broker.address


def time_process(code: str, environment: dict[str, str]) -> float:
    """Milliseconds of a whole Python process."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - began) * 1000


def compare(seconds: float, environment: dict[str, str]) -> tuple[float, float]:
    """Median milliseconds of a job that works for `seconds`, without and with the SDK, measured alternately."""
    work = WORK.format(seconds=seconds)
    pairs = [
        (time_process(work, environment), time_process(REPORT.format(work=work), environment)) for _ in range(ROUNDS)
    ]
    return statistics.median(bare for bare, _ in pairs), statistics.median(with_sdk for _, with_sdk in pairs)


def time_emit(environment: dict[str, str]) -> tuple[float, float]:
    """p50 and p99 of one emit in microseconds, while the background thread delivers."""
    code = EMIT.replace("EMITS", str(EMITS))
    printed = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    p50, p99 = (int(word) / 1000 for word in printed.stdout.split())
    return p50, p99


def measure() -> Table:
    """All figures as a table."""
    table = Table("what", "without", "with", "added or measured", "budget", title="SDK")
    with kafka() as address, tempfile.TemporaryDirectory() as outbox:
        environment = os.environ | {ADDRESS: address, "WATCHLINE_OUTBOX_DIR": outbox}
        for seconds in (0.0, 0.5):
            bare, with_sdk = compare(seconds, environment)
            row = f"{bare:.0f} ms", f"{with_sdk:.0f} ms", f"{with_sdk - bare:.0f} ms", "200 ms"
            table.add_row(f"a job of {seconds:g} s", *row)
        down = environment | {ADDRESS: "127.0.0.1:1"}
        bare, with_sdk = compare(0.0, down)
        table.add_row(
            "the same, Kafka down", f"{bare:.0f} ms", f"{with_sdk:.0f} ms", f"{with_sdk - bare:.0f} ms", "2 s"
        )
        p50, p99 = time_emit(environment)
        table.add_row("emit, p50", "", "", f"{p50:.0f} µs", "")
        table.add_row("emit, p99", "", "", f"{p99:.0f} µs", "1 ms")
    return table


if __name__ == "__main__":
    Console().print(measure())
