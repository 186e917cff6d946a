"""What the answers of the views amount to: a figure a view, and a table of all queries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rich.table import Table

from bench.figures import Figure, text_of
from bench.reporting.asking import Answer

BUDGET_MS = 200.0
RUNS = "runs"


def figures_of(answers: Sequence[Answer]) -> list[Figure]:
    """For each view its slowest query, and how many views would read all of `runs`."""
    views = {view: list(of_view) for view, of_view in groupby(answers, key=lambda one: one.query.view)}
    return [*(figure_of(view, of_view) for view, of_view in views.items()), scans_of(views)]


def figure_of(view: str, answers: Sequence[Answer]) -> Figure:
    """The slowest query of a view; the others are counted."""
    slowest = max(answers, key=lambda one: one.median)
    kept = sum(one.median <= BUDGET_MS for one in answers)
    ratio = f"{kept} of {len(answers)} queries within it"
    return Figure(f"{view}: {slowest.query.what}", "ms", slowest.milliseconds, BUDGET_MS, ratio=ratio)


def scans_of(views: dict[str, list[Answer]]) -> Figure:
    """How many views read `runs` from end to end, and which."""
    scanning = [view for view, answers in views.items() if any(RUNS in one.read_through for one in answers)]
    return Figure("views with a sequential scan of runs", "views", (len(scanning),), 0, ratio=", ".join(scanning))


def table_of(answers: Sequence[Answer]) -> Table:
    """Every query with its median and what it reads from end to end."""
    table = Table(title=f"Views of reporting: milliseconds, at most {BUDGET_MS:.0f}")
    for heading in ("view", "asked by", "median", "lowest", "highest", "reads all of"):
        table.add_column(heading, justify="right" if heading in {"median", "lowest", "highest"} else "left")
    for view, of_view in groupby(answers, key=lambda one: one.query.view):
        for place, one in enumerate(of_view):
            colour = "red" if one.median > BUDGET_MS else "green"
            low, high = text_of(min(one.milliseconds)), text_of(max(one.milliseconds))
            median = f"[{colour}]{text_of(one.median)}"
            scanned = ", ".join(sorted(one.read_through))
            table.add_row(view if place == 0 else "", one.query.what, median, low, high, scanned)
        table.add_section()
    return table
