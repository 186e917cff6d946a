"""RealBench: real run histories (CI builds, rented bikes, taxi rides) with injected events, the same for the same seed.

Flags outside the injected events count as false although some are genuine, so precision is a lower bound. As in
PipeBench, order and number of draws are part of the benchmark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.detection.backgrounds import Background, load
from bench.detection.history import History, Injected
from bench.detection.injection import SHIFT_IS_NEWS_FOR

LONGEST = 3000
APART = 8


@dataclass(frozen=True, slots=True)
class Kind:
    """An event that multiplies the values by a factor between `low` and `high`."""

    name: str
    low: float
    high: float


ROW_KINDS = (
    Kind("zero_rows", 0.0, 0.0),
    Kind("partial_load", 0.15, 0.55),
    Kind("dup_load", 1.9, 2.3),
    Kind("backfill", 5.0, 30.0),
    Kind("outage", 0.05, 0.4),
)
DURATION_KINDS = (Kind("slow", 1.8, 4.0), Kind("hang", 8.0, 25.0), Kind("early_exit", 0.02, 0.2))


@dataclass(slots=True)
class Canvas:
    """A series while events are painted on it."""

    values: NDArray[np.float64]
    taken: NDArray[np.bool_]
    events: list[Injected]


def make_corpus(seed: int) -> list[History]:
    """All histories of a seed: the same backgrounds, other events."""
    return [_spoil(background, np.random.default_rng([seed, index])) for index, background in enumerate(load())]


def _spoil(background: Background, rng: Generator) -> History:
    starts = background.starts[-LONGEST:]
    values = np.array(background.values[-LONGEST:], float)
    runs = len(values)
    canvas = Canvas(values, np.zeros(runs, bool), [])
    rows = background.metric == "rows"
    kinds = ROW_KINDS if rows else DURATION_KINDS
    for number in range(min(20, max(4, runs // 40))):
        _inject(canvas, kinds[number % len(kinds)], rng, digits=0 if rows else 1)
    if background.name.startswith("ci_") and runs > 300:
        _shift(canvas, rng)
    events = sorted(canvas.events, key=lambda event: event.start)
    return History(background.name, background.metric, starts, canvas.values.tolist(), events)


def _inject(canvas: Canvas, kind: Kind, rng: Generator, *, digits: int) -> None:
    length = int(rng.integers(3, 9)) if kind.name == "outage" else 1
    start = _place(canvas, length, rng)
    if start is None:
        return
    factor = float(rng.uniform(kind.low, kind.high)) if kind.high else 0.0
    hit = slice(start, start + length)
    canvas.values[hit] = np.round(canvas.values[hit] * factor, digits)
    canvas.events.append(Injected(kind.name, start, start + length - 1))


def _place(canvas: Canvas, length: int, rng: Generator) -> int | None:
    """A free stretch without zeros after the warm-up; None after 50 tries."""
    runs = len(canvas.values)
    for _ in range(50):
        start = int(rng.integers(max(40, runs // 10), runs - length - 1))
        around = slice(max(0, start - APART), min(runs, start + length + APART))
        if not canvas.taken[around].any() and canvas.values[start : start + length].min() > 0:
            canvas.taken[around] = True
            return start
    return None


def _shift(canvas: Canvas, rng: Generator) -> None:
    """A deployment that changes the level for good, unless another event is too near."""
    runs = len(canvas.values)
    start = int(rng.integers(int(0.7 * runs), int(0.85 * runs)))
    if canvas.taken[max(0, start - 8) : start + 12].any():
        return
    factor = float(rng.choice([0.5, 1.8]))
    canvas.values[start:] = np.round(canvas.values[start:] * factor, 1)
    canvas.events.append(Injected("level_shift", start, min(runs, start + SHIFT_IS_NEWS_FOR) - 1))
