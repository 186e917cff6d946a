"""Play faults against Watchline and check what is left.

    python -m faults.chaos --minutes 6 --seed 1 [--brokers 3] [--report FILE]

500 events a second, 12 faults a minute, on Apache Kafka and a durable Postgres of its own, all on 127.0.0.1. Without
Java and Maven it runs on the embedded broker, with fewer kinds of faults, and says which are left out. The same seed
gives the same schedule. The exit status is 1 when an invariant was violated; the logs stay then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

from faults.chaos.outcome import Outcome, Plan
from faults.chaos.play import play
from faults.chaos.report import as_document, show
from faults.chaos.schedule import KINDS, kinds_for, schedule


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m faults.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=6.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=1, help="nodes of Apache Kafka")
    parser.add_argument(
        "--broker", choices=("apache", "embedded"), help="without it: apache if Java and Maven are here"
    )
    parser.add_argument("--rate", type=int, default=500, help="events a second")
    parser.add_argument("--only", help="kinds of faults, by commas")
    parser.add_argument("--report", type=Path, help="a file for the report as JSON")
    parser.add_argument("--keep", action="store_true", help="keep the logs of a good run too")
    return parser.parse_args()


def make_plan(options: argparse.Namespace) -> Plan:
    """What to play here."""
    possible = shutil.which("java") and shutil.which("mvn")
    apache = options.broker == "apache" or (options.broker is None and bool(possible))
    nodes = options.brokers if apache else 1
    allowed = kinds_for(apache=apache, nodes=nodes)
    if options.only:
        allowed = tuple(kind for kind in allowed if kind.name in options.only.split(","))
    faults = schedule(options.seed, options.minutes, allowed)
    return Plan(options.minutes, options.seed, faults, apache, nodes, options.rate)


def main() -> int:
    """Play, report, and say with the exit status whether all held."""
    options, console = parse(), Console(highlight=False, soft_wrap=False)
    forget_environment()
    plan = make_plan(options)
    announce(plan, console)
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it says of the faults is no news
    folder, began = Path(tempfile.mkdtemp(prefix="watchline-chaos-")), time.monotonic()
    outcome: Outcome | None = None
    try:
        outcome = asyncio.run(
            play(plan, folder, lambda text: console.print(Text(f"[{time.monotonic() - began:6.1f}] {text}")))
        )
        show(outcome, console)
        if options.report:
            options.report.write_text(json.dumps(as_document(outcome), indent=2) + "\n")
        return 1 if outcome.violations else 0
    finally:
        if outcome is None or outcome.violations or options.keep:
            console.print(Text(f"logs: {folder}"))
        else:
            shutil.rmtree(folder)


def forget_environment() -> None:
    """The services see no setting of whoever starts this, nor the tests on their path."""
    for name in [name for name in os.environ if name.startswith("WATCHLINE_") or name == "PYTHONPATH"]:
        del os.environ[name]


def announce(plan: Plan, console: Console) -> None:
    """The schedule, and what is not in it."""
    for fault in plan.faults:
        console.print(Text(str(fault)))
    left_out = sorted({kind.name for kind in KINDS} - {fault.kind for fault in plan.faults})
    console.print(Text(f"{len(plan.faults)} faults; not in this run: {', '.join(left_out) or 'none'}"))
    if not plan.apache:
        console.print(
            Text("On the embedded broker: it forgets its log and its tables come back short; use Apache Kafka.")
        )


if __name__ == "__main__":
    sys.exit(main())
