"""What the SDK adds to a job: whole processes with and without it, side by side, and the time of one `emit`.

    python -m bench.sdk [--rounds 7] [--json]

Without WATCHLINE_KAFKA_BOOTSTRAP_SERVERS it starts the embedded broker. A value for every pair of processes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figures import Figure
from bench.report import show

EMITS = 20_000
EMIT_ROUNDS = 3
SHORT_JOB_MS, EMIT_MS, EXIT_MS = 200.0, 1.0, 2000.0
ADDRESS = "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS"
NOWHERE = "127.0.0.1:1"
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


def added(seconds: float, environment: dict[str, str], rounds: int) -> tuple[float, ...]:
    """Milliseconds that the SDK adds to a job of `seconds`, for each pair of a process without and one with it."""
    work = WORK.format(seconds=seconds)
    return tuple(
        time_process(REPORT.format(work=work), environment) - time_process(work, environment) for _ in range(rounds)
    )


def time_emit(environment: dict[str, str]) -> tuple[float, float]:
    """p50 and p99 of one emit in microseconds, while the background thread delivers."""
    code = EMIT.replace("EMITS", str(EMITS))
    printed = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    p50, p99 = (int(word) / 1000 for word in printed.stdout.split())
    return p50, p99


def measure(rounds: int) -> list[Figure]:
    """All of the SDK's budgets, with Kafka up and down."""
    with kafka() as address, tempfile.TemporaryDirectory() as outbox:
        up = os.environ | {ADDRESS: address, "WATCHLINE_OUTBOX_DIR": outbox}
        emits = [time_emit(up) for _ in range(min(rounds, EMIT_ROUNDS))]
        return [
            Figure("added to a job of no length, import included", "ms", added(0.0, up, rounds), SHORT_JOB_MS),
            Figure("added to a job of 0.5 s, import included", "ms", added(0.5, up, rounds), SHORT_JOB_MS),
            Figure("added with Kafka down", "ms", added(0.0, up | {ADDRESS: NOWHERE}, rounds), EXIT_MS),
            Figure("emit, p50", "ms", tuple(p50 / 1000 for p50, _ in emits)),
            Figure("emit, p99", "ms", tuple(p99 / 1000 for _, p99 in emits), EMIT_MS),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print figures as JSON, not as a table")
    options = parser.parse_args()
    show("sdk", measure(options.rounds), as_json=options.json)


if __name__ == "__main__":
    main()
