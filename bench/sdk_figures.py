"""The figures of `bench.sdk` against their budgets, a value for every pair of processes.

python -m bench.sdk_figures [--rounds 7] [--json]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from bench.figures import Figure
from bench.report import show
from bench.sdk import ADDRESS, REPORT, WORK, kafka, time_emit, time_process

SHORT_JOB_MS, EMIT_MS, EXIT_MS = 200.0, 1.0, 2000.0
NOWHERE = "127.0.0.1:1"


@contextmanager
def places() -> Iterator[dict[str, dict[str, str]]]:
    """Environments of a job: with Kafka up, and down."""
    with kafka() as address, tempfile.TemporaryDirectory() as outbox:
        up = os.environ | {ADDRESS: address, "WATCHLINE_OUTBOX_DIR": outbox}
        yield {"up": up, "down": up | {ADDRESS: NOWHERE}}


def added(seconds: float, environment: dict[str, str], rounds: int) -> tuple[float, ...]:
    """Milliseconds that the SDK adds to a job of `seconds`, for each pair of a process without and one with it."""
    work = WORK.format(seconds=seconds)
    return tuple(
        time_process(REPORT.format(work=work), environment) - time_process(work, environment) for _ in range(rounds)
    )


def measure(rounds: int) -> list[Figure]:
    """All of the SDK's budgets."""
    with places() as environments:
        up, down = environments["up"], environments["down"]
        emits = [time_emit(up) for _ in range(min(rounds, 3))]
        return [
            Figure("added to a job of no length, import included", "ms", added(0.0, up, rounds), SHORT_JOB_MS),
            Figure("added to a job of 0.5 s, import included", "ms", added(0.5, up, rounds), SHORT_JOB_MS),
            Figure("added with Kafka down", "ms", added(0.0, down, rounds), EXIT_MS),
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
