"""Measure what the design promises, part by part, and print one table.

    python -m bench [--only streams,sink,…] [--quick] [--broker HOST:PORT] [--json FILE]

Parts: streams, sink, reporting, latency, sdk, memory, restart (with --broker only), detection.
Each part runs in processes of its own and can be run alone: `python -m bench.<part> --help`. A budget that is missed
is a result, and the exit code stays 0; it is 1 when something could not be measured. `--quick` shows that all of it
works; its figures are too few to be quoted. Benchmarks want a quiet machine: the load is printed with the table.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from bench.figures import Figure
from bench.parts import PARTS, Part
from bench.report import console, machine, machine_text, table_of

TAIL_LINES = 8


class NotMeasured(Exception):
    """A part ended without figures; says how."""


def measure(part: Part, *, quick: bool, broker: str | None, tell: Callable[[str], None]) -> list[Figure]:
    """Run one part to its end; NotMeasured when it has failed."""
    times = 1 if quick else part.times
    answers = []
    for turn in range(times):
        tell(part.name if times == 1 else f"{part.name}, round {turn + 1} of {times}")
        answers.append(answer_of(part.arguments(quick=quick, broker=broker)))
    return part.read(answers)


def answer_of(arguments: Sequence[str]) -> Any:
    """The JSON that a benchmark prints as its last line."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        words = done.stderr.strip().splitlines()[-TAIL_LINES:]
        raise NotMeasured("\n".join([f"`python {' '.join(arguments)}` ended with code {done.returncode}", *words]))
    return json.loads(lines[-1])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=names_of, help="parts, by commas")
    parser.add_argument("--quick", action="store_true", help="a few minutes instead of twenty")
    parser.add_argument("--broker", help="host:port of a real Kafka for streams, latency and restart")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file as well")
    return parser.parse_args()


def names_of(text: str) -> list[str]:
    """Names of parts; an unknown one is an error that lists the known."""
    names, known = text.split(","), [part.name for part in PARTS]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(known)}")
    return names


def chosen(parts: Sequence[Part], only: Sequence[str] | None, *, broker: str | None) -> list[Part]:
    """What is asked for; without a wish, all that can be measured here."""
    if only is not None:
        return [part for part in parts if part.name in only]
    return [part for part in parts if broker or not part.needs_broker]


def main() -> int:
    options = parse()
    progress, facts = Console(stderr=True, highlight=False), machine()
    found: dict[str, list[Figure]] = {}
    failed: list[str] = []
    for part in chosen(PARTS, options.only, broker=options.broker):
        began = time.monotonic()
        with progress.status(f"measuring {part.name} …") as status:
            try:
                found[part.name] = measure(
                    part, quick=options.quick, broker=options.broker, tell=lambda at: status.update(f"measuring {at} …")
                )
            except NotMeasured as error:
                failed.append(part.name)
                progress.print(f"{part.name}: {error}", markup=False)
        progress.print(f"{'✗' if part.name in failed else '✓'} {part.name}, {time.monotonic() - began:.0f} s")
    output = console()
    output.print(table_of(found), machine_text(facts), sep="\n")
    for name in failed:
        output.print(f"[red]{name} could not be measured")
    if options.json:
        figures = {name: [figure.as_json() for figure in figures] for name, figures in found.items()}
        options.json.write_text(json.dumps({"machine": facts, "quick": options.quick, "figures": figures}, indent=2))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
