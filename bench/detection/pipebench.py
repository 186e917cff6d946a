"""PipeBench: synthetic run histories of 60 pipelines, four metrics each, the same for the same seed.

Every pipeline has its own random stream, `default_rng([seed, pipeline])`. Order and number of draws are part of the
corpus: a draw more or less makes another benchmark, so what looks reorderable here is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.detection.archetypes import ARCHETYPES, FIRST_DAY, Archetype, draw_starts, is_month_edge
from bench.detection.history import DAY, History, Injected, Metric
from bench.detection.injection import Plan, inject

Floats = NDArray[np.float64]
METRICS: tuple[Metric, ...] = ("rows", "duration", "throughput", "deletes")
SUNDAY_FULL_LOAD = 15.0


@dataclass(frozen=True, slots=True)
class Traits:
    """What makes one pipeline differ from its archetype."""

    rows: float
    noise: float
    rows_per_second: float
    duration: float


def make_corpus(seed: int, repetitions: int = 5) -> list[History]:
    """All histories of a seed: twelve archetypes, over and over, four metrics each."""
    pipelines = [*ARCHETYPES] * repetitions
    return [history for index, archetype in enumerate(pipelines) for history in make_pipeline(seed, index, archetype)]


def make_pipeline(seed: int, index: int, archetype: Archetype) -> list[History]:
    """The four histories of one pipeline."""
    rng = np.random.default_rng([seed, index])
    traits = _draw_traits(archetype, rng)
    starts = draw_starts(archetype, rng)
    rows = _draw_rows(archetype, traits, starts, rng)
    slowness = _draw_slowness(archetype, len(starts), rng)
    deletes: Floats = np.zeros(len(starts))
    if rng.random() < 0.5:
        deletes = rng.poisson(max(0.0, traits.rows * 1e-5), len(starts)).astype(np.float64)
    plan = inject(archetype, rows, deletes, rng)

    rows = (rows * plan.rows).round()
    duration = (traits.duration + rows / traits.rows_per_second) * slowness * plan.duration
    duration = np.maximum(0.5, duration).round(1)
    deletes = np.where(plan.deletes >= 0, plan.deletes, deletes)
    values = (rows, duration, np.round(rows / duration, 3), deletes)
    name = f"{archetype.name}_{index}"
    return [
        History(name, metric, starts.tolist(), series.tolist(), _expected_in(metric, plan))
        for metric, series in zip(METRICS, values, strict=True)
    ]


def _draw_traits(archetype: Archetype, rng: Generator) -> Traits:
    rows = archetype.rows * math.exp(rng.normal(0, 0.8))
    noise = archetype.noise * math.exp(rng.normal(0, 0.2))
    rows_per_second = archetype.rows_per_second * math.exp(rng.normal(0, 0.3))
    return Traits(rows, noise, rows_per_second, archetype.duration * math.exp(rng.normal(0, 0.4)))


def _draw_rows(archetype: Archetype, traits: Traits, starts: NDArray[np.int64], rng: Generator) -> Floats:
    """Log-normal rows around the calendar, each run a third like the one before."""
    shocks = rng.normal(0, traits.noise, len(starts))
    drifting = np.zeros(len(starts))
    for run, shock in enumerate(shocks):
        drifting[run] = shock + (0.35 * drifting[run - 1] if run else 0)
    expected = np.exp(_calendar(archetype, traits, starts) + drifting)
    rows: Floats = rng.poisson(expected).astype(np.float64) if archetype.poisson else expected.round()
    if archetype.zero_share:
        rows = np.where(rng.random(len(starts)) < archetype.zero_share, 0.0, rows)
    return rows


def _calendar(archetype: Archetype, traits: Traits, starts: NDArray[np.int64]) -> Floats:
    """The logarithm of the rows that the calendar alone would bring."""
    weekday = (starts - FIRST_DAY) // DAY % 7
    level = np.full(len(starts), math.log(traits.rows))
    level = level + np.log1p(archetype.growth * (starts - FIRST_DAY) / (365 * DAY))
    if archetype.weekend != 1.0:
        level = level + np.where(weekday >= 5, math.log(archetype.weekend), 0.0)
    if archetype.daytime:
        level = level + archetype.daytime * np.cos(2 * np.pi * ((starts % DAY) / 3600.0 - 15) / 24)
    if archetype.month_edge > 1.0:
        level = level + np.where(is_month_edge(starts), math.log(archetype.month_edge), 0.0)
    if archetype.timetable == "bimodal":
        level = level + np.where(weekday == 6, math.log(SUNDAY_FULL_LOAD), 0.0)
    return level


def _draw_slowness(archetype: Archetype, runs: int, rng: Generator) -> Floats:
    """Factors of the duration: noise, and for a few runs a benign heavy tail (queues, cold caches) without a label."""
    noise = rng.normal(0, archetype.duration_noise, runs)
    slow = rng.random(runs) < archetype.slow_share
    return np.asarray(np.exp(noise) * np.where(slow, 1 + rng.pareto(3.0, runs) * 0.8, 1.0))


ROW_KINDS = {"zero_rows", "partial_load", "dup_load", "backfill", "early_exit", "outage"}
DURATION_KINDS = {"slow", "hang", "early_exit", "drift"}


def _expected_in(metric: Metric, plan: Plan) -> list[Injected]:
    """The events that this metric must show, and as optional those that it may."""
    events = [seen for event in plan.events if (seen := _as_seen_by(metric, event, plan.shifted)) is not None]
    return sorted(events, key=lambda event: event.start)


def _as_seen_by(metric: Metric, event: Injected, shifted: Metric | None) -> Injected | None:
    if event.kind == "level_shift":
        due = metric == shifted
        may = metric == "throughput" or (metric == "duration" and shifted == "rows")
    elif event.kind == "deletes_burst":
        due, may = metric == "deletes", False
    else:
        by_rows, by_duration = event.kind in ROW_KINDS, event.kind in DURATION_KINDS
        due = by_rows if metric == "rows" else by_duration if metric == "duration" else False
        may = by_rows if metric == "duration" else metric == "throughput"
    return event if due else event.as_side_effect() if may else None
