"""The real series behind RealBench, read from the files beside it and from the demo's run history."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from bench.detection.history import DAY, Metric

HERE = Path(__file__).parent / "data"
DELIVERED = ("SUCCESS", "UNSTABLE")
Points = list[tuple[int, float]]


@dataclass(frozen=True, slots=True)
class Background:
    """A series as it was: starts in epoch seconds and values."""

    name: str
    metric: Metric
    starts: list[int]
    values: list[float]


def load() -> list[Background]:
    """All series, in the order that the random streams are numbered by."""
    runs = [row for row in _rows(files("watchline.cli.demo") / "data" / "lrts_ci_runs.csv") if _delivered(row)]
    bikes = [(_seconds(row["timestamp"]), float(row["rows"])) for row in _rows(HERE / "bike_hourly.csv")]
    taxis: dict[int, float] = defaultdict(float)
    for row in _rows(HERE / "nyc_taxi_30min.csv"):
        taxis[_seconds(row["timestamp"]) // 3600 * 3600] += float(row["value"])
    return [
        *_builds(runs),
        *_stages(runs),
        *_hourly_and_daily("bike", bikes),
        *_hourly_and_daily("taxi", taxis.items()),
    ]


def _builds(runs: list[dict[str, str]]) -> Iterator[Background]:
    """Duration and passed tests of the builds of each project with at least 150; the last stage of a build counts."""
    projects: dict[str, dict[tuple[str, str], tuple[int, float, float]]] = defaultdict(dict)
    for row in runs:
        build = (int(row["started_at"]), float(row["duration_s"]), float(row["passed"] or 0))
        projects[row["project"]][row["branch"], row["build_no"]] = build
    for project, builds in projects.items():
        ordered = sorted(builds.values())
        if len(ordered) >= 150:
            starts = [start for start, _, _ in ordered]
            yield Background(f"ci_{project}", "duration", starts, [duration for _, duration, _ in ordered])
            yield Background(f"ci_{project}", "rows", starts, [passed for _, _, passed in ordered])


def _stages(runs: list[dict[str, str]]) -> Iterator[Background]:
    """Passed test classes of each stage with at least 250 runs."""
    stages: dict[tuple[str, str], Points] = defaultdict(list)
    for row in runs:
        if row["pass_classes"] not in {"", "nan"}:
            stages[row["project"], row["stage"]].append((int(row["started_at"]), float(row["pass_classes"])))
    for (project, stage), points in stages.items():
        if len(points) >= 250 and stage != "single":
            yield _series(f"ci_{project}_{stage}", points)


def _hourly_and_daily(name: str, points: Iterable[tuple[int, float]]) -> Iterator[Background]:
    """The hours, and their sums a day without the first and the last, which may be cut."""
    hours = list(points)
    days: dict[int, float] = defaultdict(float)
    for start, value in sorted(hours):
        days[start // DAY] += value
    yield _series(f"{name}_hourly", hours)
    yield _series(f"{name}_daily", [(day * DAY + 7200, days[day]) for day in sorted(days)[1:-1]])


def _series(name: str, points: Points) -> Background:
    ordered = sorted(points)
    return Background(name, "rows", [start for start, _ in ordered], [value for _, value in ordered])


def _delivered(row: dict[str, str]) -> bool:
    return row["result"] in DELIVERED


def _rows(path: Traversable) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def _seconds(stamp: str) -> int:
    return int(datetime.strptime(stamp[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp())
