"""What Postgres holds after the replay: totals to compare with the file, pipelines, strongest anomalies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from watchline.cli.demo.history import CiRun
from watchline.schemas.errors import WatchlineError

TOTALS = """
    select status, count(*) as runs, coalesce(sum(total_rows), 0)::bigint as rows,
        coalesce(sum(duration_seconds), 0)::bigint as seconds
    from runs where pipeline = any($1) group by status
"""
PIPELINES = """
    select r.pipeline, count(*) as runs, count(*) filter (where r.status = 'failed') as failures,
        coalesce(max(a.anomalies), 0) as anomalies, max(w.effective) as watermark
    from runs r
    left join (select pipeline, count(*) as anomalies from anomalies group by pipeline) a using (pipeline)
    left join watermarks w on w.pipeline = r.pipeline and w.dataset = ''
    where r.pipeline = any($1) group by r.pipeline order by anomalies desc, runs desc, r.pipeline
"""
STRONGEST = """
    select pipeline, metric, value, lower, upper, score, run_started_at
    from anomalies where pipeline = any($1) order by abs(score) desc, run_started_at, pipeline, metric limit $2
"""
INCIDENTS = "select count(*) from incidents where pipeline = any($1)"
ALERTS = "select count(*) from alert_outbox where pipeline = any($1) and state in ('pending', 'sent')"


@dataclass(frozen=True, slots=True)
class Totals:
    """Runs by status, rows and seconds over all of them."""

    runs: Counter[str]
    rows: int
    seconds: int


@dataclass(frozen=True, slots=True)
class PipelineSummary:
    """One line of the overview."""

    pipeline: str
    runs: int
    failures: int
    anomalies: int
    watermark: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """One anomaly with what explains it."""

    pipeline: str
    metric: str
    value: float
    lower: float | None
    upper: float | None
    score: float
    started_at: datetime


def totals_of(history: Sequence[CiRun]) -> Totals:
    """What Postgres has to hold."""
    return Totals(
        runs=Counter(run.status for run in history),
        rows=sum(run.passed_tests for run in history),
        seconds=sum(run.duration_seconds for run in history),
    )


def differences(stored: Totals, expected: Totals) -> list[str]:
    """In words, where the totals differ; empty when they don't."""
    found = [
        f"{stored.runs[status]} runs {status} instead of {expected.runs[status]}"
        for status in sorted(stored.runs.keys() | expected.runs.keys())
        if stored.runs[status] != expected.runs[status]
    ]
    if stored.rows != expected.rows:
        found.append(f"{stored.rows} rows instead of {expected.rows}")
    if stored.seconds != expected.seconds:
        found.append(f"{stored.seconds} seconds instead of {expected.seconds}")
    return found


async def verify_totals(
    connection: asyncpg.Connection[Any], history: Sequence[CiRun], pipelines: Sequence[str]
) -> None:
    """Return when Postgres holds the totals of the history; WatchlineError names every difference."""
    different = differences(await read_totals(connection, pipelines), totals_of(history))
    if different:
        raise WatchlineError(
            f"Postgres does not hold what was sent: {'; '.join(different)}",
            hint="this is a defect; please report it with the logs",
        )


async def read_totals(connection: asyncpg.Connection[Any], pipelines: Sequence[str]) -> Totals:
    """What Postgres does hold."""
    rows = await connection.fetch(TOTALS, pipelines)
    return Totals(
        runs=Counter({row["status"]: row["runs"] for row in rows}),
        rows=sum(row["rows"] for row in rows),
        seconds=sum(row["seconds"] for row in rows),
    )


async def read_pipelines(connection: asyncpg.Connection[Any], pipelines: Sequence[str]) -> list[PipelineSummary]:
    """All pipelines, most anomalies first."""
    return [PipelineSummary(**dict(row)) for row in await connection.fetch(PIPELINES, pipelines)]


async def read_strongest(connection: asyncpg.Connection[Any], pipelines: Sequence[str], count: int) -> list[Finding]:
    """The strongest anomalies, the strongest first."""
    rows = await connection.fetch(STRONGEST, pipelines, count)
    return [
        Finding(
            pipeline=row["pipeline"],
            metric=row["metric"],
            value=row["value"],
            lower=row["lower"],
            upper=row["upper"],
            score=row["score"],
            started_at=row["run_started_at"],
        )
        for row in rows
    ]


async def count_incidents(connection: asyncpg.Connection[Any], pipelines: Sequence[str]) -> tuple[int, int]:
    """How many incidents were recorded, and how many alerts of them were sent or will be."""
    return await connection.fetchval(INCIDENTS, pipelines), await connection.fetchval(ALERTS, pipelines)
