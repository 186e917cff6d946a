"""What each report asks of the views of `reporting`, and which columns of the answer fit on a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

# Conditions by the name of their parameter; the values travel beside the statement.
CONDITIONS = {
    "pipeline": "pipeline = {}",
    "pipeline_type": "pipeline_type = {}",
    "type": "type = {}",
    "owner": "owner = {}",
    "first_day": "day >= {}",
    "first_month": "month >= {}",
    "since": "run_ended_at >= {}",
    "dataset": "dataset = {}",
    "direction": "direction = {}",
}


@dataclass(frozen=True, slots=True)
class Question:
    """One report: its view, the columns of every format, their order, and those that a table shows under which name."""

    view: str
    columns: tuple[str, ...]
    order: str
    shown: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and the values of its parameters."""

    sql: str
    values: tuple[Any, ...]


def ask(question: Question, wanted: Mapping[str, Any], *, limit: int) -> Statement:
    """The statement of a question, narrowed down to what is `wanted`; a None lets all through."""
    given = {name: value for name, value in wanted.items() if value is not None}
    conditions = [CONDITIONS[name].format(f"${number}") for number, name in enumerate(given, start=1)]
    where = f" where {' and '.join(conditions)}" if conditions else ""
    return Statement(
        f"select {', '.join(question.columns)} from reporting.{question.view}{where} "  # noqa: S608 - constants
        f"order by {question.order} limit ${len(given) + 1}",
        (*given.values(), limit),
    )


PIPELINES = Question(
    "pipelines",
    (
        "pipeline", "type", "owner", "active", "last_status", "last_started_at", "last_success_at", "freshness",
        "data_age_seconds", "last_watermark", "watermark_lag_seconds", "open_incidents", "open_fail_incidents",
        "next_due_at",
    ),
    "open_fail_incidents desc, open_incidents desc, pipeline",
    {
        "pipeline": "pipeline", "last_status": "last run", "last_success_at": "last success",
        "freshness": "data", "data_age_seconds": "age", "open_incidents": "open",
    },
)  # fmt: skip
DAILY = Question(
    "daily",
    (
        "day", "pipeline", "pipeline_type", "owner", "runs", "succeeded", "failed", "aborted", "running", "error_share",
        "inserts", "updates", "deletes", "total_rows", "avg_duration_seconds", "median_duration_seconds",
        "p95_duration_seconds", "throughput", "anomalous", "overdue",
    ),
    "day desc, pipeline",
    {
        "day": "day", "pipeline": "pipeline", "runs": "runs", "error_share": "errors", "total_rows": "rows",
        "median_duration_seconds": "median", "p95_duration_seconds": "p95", "anomalous": "odd",
    },
)  # fmt: skip
SLA = Question(
    "sla",
    (
        "month", "pipeline", "pipeline_type", "owner", "due", "met", "late", "missed", "excused", "unknown",
        "met_share", "missed_share", "stale_seconds", "fresh_share",
    ),
    "month desc, met_share nulls last, fresh_share nulls last, pipeline",
    {
        "month": "month", "pipeline": "pipeline", "due": "due", "late": "late", "missed": "missed",
        "met_share": "met", "fresh_share": "fresh",
    },
)  # fmt: skip
ANOMALIES = Question(
    "anomalies",
    (
        "run_ended_at", "pipeline", "pipeline_type", "owner", "run_id", "metric", "value", "expected", "lower", "upper",
        "score", "baseline_runs", "reason", "rule", "muted", "feedback",
    ),
    "abs(score) desc, run_ended_at desc",
    {
        "run_ended_at": "ended", "pipeline": "pipeline", "metric": "metric", "value": "value", "lower": "from",
        "upper": "to", "score": "score",
    },
)  # fmt: skip
EDGES = Question(
    "lineage",
    (
        "source", "source_type", "source_group", "pipeline", "pipeline_type", "owner", "target", "target_type",
        "target_group", "declared_at",
    ),
    "source, pipeline, target",
    {"source": "source", "pipeline": "pipeline", "target": "target"},
)  # fmt: skip
PATHS = Question(
    "lineage_paths",
    (
        "direction", "dataset", "dataset_type", "dataset_group", "depth", "reached", "reached_type", "reached_group",
        "path",
    ),
    "direction, dataset_type, dataset_group, depth, path, reached_type, reached_group",
    {"direction": "direction", "depth": "depth", "reached": "dataset"},
)  # fmt: skip
