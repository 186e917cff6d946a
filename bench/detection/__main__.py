"""Score the default detector: `python -m bench.detection --synthetic 201,202,203 --real 11 [--json]`.

Tune on the seeds 101, 102 (synthetic) and 1 (real) only; the defaults are for the final figure.
"""

from __future__ import annotations

import argparse
import json

from rich.console import Console
from rich.table import Table

from bench.detection import pipebench, realbench
from bench.detection.scoring import Tally
from bench.detection.subject import measure


def main() -> None:
    arguments = _parse()
    tallies = {
        "pipebench": measure([one for seed in arguments.synthetic for one in pipebench.make_corpus(seed)]),
        "realbench": measure([one for seed in arguments.real for one in realbench.make_corpus(seed)]),
    }
    if arguments.json:
        print(json.dumps({name: tally.figures() for name, tally in tallies.items()}))
    else:
        Console().print(_figures(tallies), _recall(tallies))


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__)
    parser.add_argument("--synthetic", type=_seeds, default="201,202,203", help="seeds of PipeBench, by commas")
    parser.add_argument("--real", type=_seeds, default="11", help="seeds of RealBench, by commas")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def _seeds(text: str) -> list[int]:
    return [int(seed) for seed in text.split(",") if seed]


def _figures(tallies: dict[str, Tally]) -> Table:
    table = Table("", "precision", "recall", "F1", "false flags / 30 d", "µs a run", title="Detection quality")
    for name, tally in tallies.items():
        table.add_row(name, *(f"{figure:.3f}" for figure in tally.figures().values()))
    return table


def _recall(tallies: dict[str, Tally]) -> Table:
    table = Table("event", *tallies, title="Recall by kind")
    by_kind = {name: tally.recall_by_kind() for name, tally in tallies.items()}
    for kind in sorted({kind for recall in by_kind.values() for kind in recall}):
        table.add_row(kind, *(f"{recall[kind]:.2f}" if kind in recall else "" for recall in by_kind.values()))
    return table


if __name__ == "__main__":
    main()
