"""The twelve kinds of pipeline that PipeBench draws from, and when each of them runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from bench.detection.history import DAY

FIRST_DAY = 1_704_067_200  # 2024-01-01 00:00 UTC, a Monday
HOUR = 3_600
Timetable = Literal["daily", "weekday", "bimodal", "weekly", "irregular", "hourly", "15min", "6h"]
STEPS = {"hourly": HOUR, "15min": 900, "6h": 6 * HOUR}


@dataclass(frozen=True, slots=True)
class Archetype:
    """Factors are multiples of the usual value, `noise` is a standard deviation of the logarithm."""

    name: str
    timetable: Timetable
    days: int
    rows: float
    noise: float
    weekend: float = 1.0
    daytime: float = 0.0  # amplitude of the daily cosine, in the logarithm
    growth: float = 0.0  # a year
    month_edge: float = 1.0
    poisson: bool = False
    duration: float = 60.0  # fixed part, seconds
    rows_per_second: float = 8_000.0
    duration_noise: float = 0.1
    slow_share: float = 0.01  # runs with a benign, unlabelled heavy tail
    zero_share: float = 0.0


ARCHETYPES = (
    Archetype("daily_fact", "daily", 240, 2e6, 0.12, 0.45, 0.0, 0.5, 1.8, False, 120, 9000, 0.12, 0.015),
    Archetype("daily_flat", "daily", 240, 4e5, 0.06, 1.0, 0.0, 0.1, 1.0, False, 60, 8000, 0.08, 0.01),
    Archetype("weekday_batch", "weekday", 280, 8e5, 0.15, 1.0, 0.0, 0.2, 1.5, False, 300, 5000, 0.15, 0.02),
    Archetype("hourly_incr", "hourly", 90, 3e4, 0.15, 0.55, 0.9, 0.3, 1.2, False, 25, 2500, 0.18, 0.01),
    Archetype("hourly_flat", "hourly", 60, 5e3, 0.25, 1.0, 0.2, 0.0, 1.0, False, 12, 1500, 0.25, 0.01),
    Archetype("micro_15m", "15min", 30, 1500, 0.20, 0.7, 0.8, 0.0, 1.0, False, 6, 1200, 0.22, 0.01),
    Archetype("sparse_hourly", "hourly", 90, 40, 0.60, 0.6, 0.8, 0.0, 1.0, True, 8, 500, 0.30, 0.01, 0.35),
    Archetype("weekly_snap", "weekly", 730, 6e6, 0.08, 1.0, 0.0, 0.4, 1.0, False, 900, 9000, 0.10, 0.02),
    Archetype("bimodal_full", "bimodal", 240, 2e5, 0.10, 1.0, 0.0, 0.1, 1.0, False, 90, 6000, 0.12, 0.01),
    Archetype("heavy_adhoc", "irregular", 150, 3e5, 0.50, 0.8, 0.3, 0.0, 1.0, False, 200, 3000, 0.55, 0.04),
    Archetype("six_hourly", "6h", 150, 1e6, 0.10, 0.7, 0.5, 0.3, 1.3, False, 180, 7000, 0.12, 0.02),
    Archetype("dim_refresh", "daily", 240, 5e4, 0.004, 1.0, 0.0, 0.25, 1.0, False, 40, 4000, 0.10, 0.01),
)


def draw_starts(archetype: Archetype, rng: Generator) -> NDArray[np.int64]:
    """Starts in epoch seconds, late by chance and never early."""
    timetable, days = archetype.timetable, archetype.days
    if timetable == "irregular":
        return np.array(_irregular(days, rng), dtype=np.int64)
    if timetable == "weekly":
        planned, jitter = [FIRST_DAY + day * DAY + 3 * HOUR for day in range(0, days, 7)], 400.0
    elif timetable in STEPS:
        step = STEPS[timetable]
        offset = int(rng.integers(0, 300))
        planned = [FIRST_DAY + run * step + offset for run in range(days * DAY // step)]
        jitter = step * 0.01
    else:
        if timetable == "daily":
            rng.integers(0, HOUR)  # drawn and dropped: the published corpora were made with it
        offset = int(rng.integers(0, 6)) * HOUR + int(rng.integers(0, HOUR))
        worked = [day for day in range(days) if timetable != "weekday" or day % 7 < 5]
        planned, jitter = [FIRST_DAY + day * DAY + offset for day in worked], 240.0
    late = np.abs(rng.normal(0, jitter, len(planned))).astype(np.int64)
    return np.array(planned, dtype=np.int64) + late


def _irregular(days: int, rng: Generator) -> list[int]:
    """About three starts a day, at least a quarter of an hour apart."""
    starts = []
    at = float(FIRST_DAY)
    while at < FIRST_DAY + days * DAY:
        starts.append(int(at))
        at += max(900.0, float(rng.gamma(3, 8 * HOUR / 3)))
    return starts


def is_month_edge(starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a start falls on the first or the last day of a month."""
    days = starts.astype("datetime64[s]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    last = (months + 1).astype("datetime64[D]") - np.timedelta64(1, "D")
    return np.asarray((days == last) | (days == months.astype("datetime64[D]")))
