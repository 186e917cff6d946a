"""The run history that the demo replays: Jenkins CI runs of ten Apache projects as events of Watchline.

A pipeline is a project and its build stage. `UNSTABLE` means that the build ran to its end and delivered its
test results, some of them failures (two of three Kafka builds): a run that succeeded with a metric
`failed_tests`, as the detection benchmark reads it too. `NOT_BUILT` is Jenkins' word for a build given up for a
newer one: aborted.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from uuid import UUID, uuid5

from watchline.schemas.events import EndStatus

NAMESPACE = UUID("2f6d7c0e-6c1f-5a57-9d53-0e5b7a4f8c11")
STATUS: dict[str, EndStatus] = {
    "SUCCESS": "succeeded",
    "UNSTABLE": "succeeded",
    "FAILURE": "failed",
    "ABORTED": "aborted",
    "NOT_BUILT": "aborted",
}


@dataclass(frozen=True, slots=True)
class CiRun:
    """One line of the history."""

    project: str
    stage: str
    branch: str
    build: int
    started_at: datetime
    duration_seconds: int
    result: str
    passed_tests: int
    failed_tests: int
    skipped_tests: int
    test_classes: int

    @property
    def pipeline(self) -> str:
        return f"{self.project}/{self.stage}"

    @property
    def run_id(self) -> UUID:
        return uuid5(NAMESPACE, f"{self.pipeline}/{self.branch}/{self.build}")

    @property
    def ended_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.duration_seconds)

    @property
    def status(self) -> EndStatus:
        return STATUS.get(self.result, "unknown")


def read_history(limit: int | None = None) -> list[CiRun]:
    """The packaged runs, oldest start first; `limit` keeps the first that many."""
    with files("watchline.cli.demo").joinpath("data/lrts_ci_runs.csv").open(encoding="utf-8") as lines:
        runs = list(parse_history(lines))
    runs.sort(key=lambda run: (run.started_at, run.pipeline, run.branch, run.build))
    return runs[:limit]


def parse_history(lines: Iterable[str]) -> Iterator[CiRun]:
    """The runs of a CSV with the header project, stage, branch, build_no, started_at (Unix seconds), …"""
    for row in csv.DictReader(lines):
        yield CiRun(
            project=row["project"],
            stage=row["stage"],
            branch=row["branch"],
            build=int(row["build_no"]),
            started_at=datetime.fromtimestamp(int(row["started_at"]), UTC),
            duration_seconds=int(row["duration_s"]),
            result=row["result"],
            passed_tests=int(row["passed"]),
            failed_tests=int(row["failed"]),
            skipped_tests=int(row["skipped"]),
            test_classes=int(row["pass_classes"]),
        )
