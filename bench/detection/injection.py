"""What goes wrong in a synthetic history: where, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.detection.archetypes import Archetype
from bench.detection.history import Injected, Metric

Floats = NDArray[np.float64]
KINDS = ("zero_rows", "partial_load", "dup_load", "slow", "hang", "early_exit", "backfill", "drift", "outage")
SHIFT_IS_NEWS_FOR = 10  # runs; after these the new level is normal, and a flag on it false
DRIFT_RUNS = 24
APART = 6


@dataclass(slots=True)
class Plan:
    """Factors of rows and durations per run, deletes that replace the drawn ones (unless -1), and the events."""

    rows: Floats
    duration: Floats
    deletes: Floats
    taken: NDArray[np.bool_]
    events: list[Injected] = field(default_factory=list)
    shifted: Metric | None = None


def inject(archetype: Archetype, rows: Floats, deletes: Floats, rng: Generator) -> Plan:
    """Draw a level shift for half of the histories, three to six other events, and a burst of deletes for some."""
    runs = len(rows)
    plan = Plan(np.ones(runs), np.ones(runs), np.full(runs, -1.0), np.zeros(runs, bool))
    kinds = list(KINDS)
    rng.shuffle(kinds)
    count = int(rng.integers(4, 7)) if runs > 150 else 3
    if rng.random() < 0.5 and runs > 100:
        _shift(plan, rng)
    for kind in kinds[:count]:
        outage = int(rng.integers(3, 9))  # drawn for every kind
        length = {"drift": DRIFT_RUNS, "outage": outage}.get(kind, 1)
        if runs < 150 and kind == "drift":
            continue
        start = _place(plan, length, rng)
        if start is None or (kind == "zero_rows" and (rows[start] == 0 or archetype.zero_share)):
            continue
        _spoil(plan, kind, slice(start, start + length), rng)
        plan.events.append(Injected(kind, start, start + length - 1))
    if rng.random() < 0.5 and deletes.sum() == 0:
        _burst(plan, rng)
    return plan


def _shift(plan: Plan, rng: Generator) -> None:
    runs = len(plan.rows)
    start = int(rng.integers(int(0.45 * runs), int(0.75 * runs)))
    plan.taken[max(0, start - 12) : min(runs, start + 40)] = True
    plan.shifted = "rows" if str(rng.choice(["rows", "duration"])) == "rows" else "duration"
    factors = plan.rows if plan.shifted == "rows" else plan.duration
    factors[start:] *= float(rng.choice([0.4, 0.55, 1.7, 2.2]))
    plan.events.append(Injected("level_shift", start, min(runs, start + SHIFT_IS_NEWS_FOR) - 1))


def _place(plan: Plan, length: int, rng: Generator) -> int | None:
    """A free stretch after the warm-up, apart from all others; None after 200 tries."""
    runs = len(plan.rows)
    warm = max(30, int(0.2 * runs)) if runs > 150 else max(20, int(0.25 * runs))
    for _ in range(200):
        start = int(rng.integers(warm, runs - length - 1))
        around = slice(max(0, start - APART), min(runs, start + length + APART))
        if not plan.taken[around].any():
            plan.taken[around] = True
            return start
    return None


def _spoil(plan: Plan, kind: str, where: slice, rng: Generator) -> None:
    rows, duration = plan.rows, plan.duration
    if kind == "zero_rows":
        rows[where] = 0
    elif kind == "early_exit":
        duration[where] *= float(rng.uniform(0.02, 0.2))
        rows[where] *= float(rng.uniform(0.0, 0.3))
    elif kind == "drift":
        duration[where] *= np.linspace(1.0, float(rng.uniform(2.2, 3.5)), DRIFT_RUNS)
    else:
        factors, low, high = {
            "partial_load": (rows, 0.15, 0.55),
            "dup_load": (rows, 1.9, 2.3),
            "backfill": (rows, 5, 30),
            "outage": (rows, 0.05, 0.4),
            "slow": (duration, 1.8, 4),
            "hang": (duration, 8, 25),
        }[kind]
        factors[where] *= float(rng.uniform(low, high))


def _burst(plan: Plan, rng: Generator) -> None:
    start = _place(plan, 1, rng)
    if start is not None:
        plan.deletes[start] = float(rng.integers(50, 5000))
        plan.events.append(Injected("deletes_burst", start, start))
