"""Showing figures: one Rich table, and the machine that they belong to."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from bench.figures import Figure, budget_text, measured_text, ratio_text

WIDTH = 120  # a pipe has no width, and half a table says nothing
COLOURS = {"met": "green", "not met": "red", "no budget": "dim"}


def machine() -> dict[str, str]:
    """Cores, memory, Python and kernel, and how busy the machine is with other things now."""
    return {
        "cores": f"{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()}",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "Python": platform.python_version(),
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def console() -> Console:
    """A console on stdout that is never too narrow for the table."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=WIDTH)


def table_of(groups: Mapping[str, Sequence[Figure]]) -> Table:
    """One line per figure, a rule between the parts."""
    table = Table(title="Watchline: what the budgets allow, and what was measured")
    for heading in ("part", "what", "budget", "measured: median (min–max)", "ratio", "verdict"):
        table.add_column(heading, overflow="fold")
    for part, figures in groups.items():
        for at, figure in enumerate(figures):
            verdict = f"[{COLOURS[figure.verdict]}]{figure.verdict}"
            texts = (budget_text(figure), measured_text(figure), ratio_text(figure))
            table.add_row(part if at == 0 else "", figure.what, *texts, verdict)
        table.add_section()
    return table


def machine_text(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def show(part: str, figures: Sequence[Figure], *, as_json: bool) -> None:
    """Print the figures of one part: a JSON array for programs, or the table for people."""
    if as_json:
        print(json.dumps([figure.as_json() for figure in figures]))
        return
    output = console()
    output.print(table_of({part: figures}), machine_text(machine()), sep="\n")
