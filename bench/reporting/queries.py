"""What is asked of every view: an aggregate over what a filter leaves, and the first hundred rows, newest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

PAGE = 100
DAYS = {"day": 1, "week": 7, "month": 31}  # columns that hold dates, and how many days each stands for


@dataclass(frozen=True, slots=True)
class Shape:
    """How a view is asked: what the aggregate computes, the order of a page, and the columns that filters go by.

    `pipeline` and `month` name columns, None where the view has none. `others` are filters of its own: a condition on
    `$1`, by the subject that it takes. With `whole` the view is also asked without a filter.
    """

    aggregate: str
    newest: str
    pipeline: str | None = "pipeline"
    month: str | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """One question to one view: SQL with its arguments, and in words what it asks for."""

    view: str
    what: str
    sql: str
    arguments: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Subjects:
    """What is asked about: pipelines by name, a month, the present, and by name whatever else filters take."""

    pipelines: Mapping[str, str]
    month: tuple[datetime, datetime]
    now: datetime
    others: Mapping[str, Any]


SUMS = "sum(runs), sum(failed), sum(total_rows), avg(error_share), max(p95_duration_seconds), sum(anomalous)"
SHAPES = {
    "runs": Shape(
        "count(*), count(*) filter (where status = 'failed'), avg(duration_seconds), sum(inserts)",
        "started_at desc",
        month="started_at",
    ),
    "run_tree": Shape(
        "count(*), max(depth), sum(related_duration_seconds)",
        "related_started_at desc",
        pipeline="related_pipeline",
        month="related_started_at",
        others={"run": "run_id = $1"},
    ),
    "run_attempts": Shape(
        "count(*), count(*) filter (where status = 'failed'), avg(duration_seconds)", "ended_at desc", month="ended_at"
    ),
    "pipelines": Shape(
        "count(*), sum(open_incidents), max(last_success_at)",
        "last_started_at desc",
        month="last_change_at",
        others={"owner": "owner = $1"},
        whole=True,
    ),
    "daily": Shape(SUMS, "day desc", month="day", others={"owner": "owner = $1 and day >= current_date - 30"}),
    "hourly": Shape(SUMS, "hour desc", month="hour"),
    "week_over_week": Shape("sum(runs), sum(previous_runs), avg(duration_change_share)", "week desc", month="week"),
    "anomalies": Shape("count(*), max(abs(score)), count(feedback)", "run_ended_at desc", month="run_ended_at"),
    "incidents": Shape(
        "count(*), avg(open_seconds), count(*) filter (where status <> 'resolved')", "opened_at desc", month="opened_at"
    ),
    "mttr": Shape("sum(incidents), avg(mean_resolve_seconds)", "month desc", month="month"),
    "sla": Shape("sum(due), sum(missed), avg(met_share), avg(fresh_share)", "month desc", month="month"),
    "alert_load": Shape(
        "sum(messages), sum(alerts), sum(failed)",
        "day desc",
        pipeline=None,
        month="day",
        others={"owner": "owner = $1"},
    ),
    "delivery": Shape("count(*), avg(delay_seconds), sum(attempts)", "created_at desc", month="created_at"),
    "commands": Shape("count(*), count(incident_id)", "at desc", month="at"),
    "expected_runs": Shape(
        "count(*), count(*) filter (where state = 'missed'), avg(delay_seconds)", "due_at desc", month="due_at"
    ),
    "dead_letters": Shape("count(*), sum(value_bytes)", "failed_at desc", pipeline=None, month="failed_at"),
    "ingestion": Shape("count(*), max(behind_seconds)", "partition", pipeline=None, whole=True),
    "datasets": Shape(
        "count(*), sum(cardinality(readers)), sum(cardinality(writers))",
        "last_declared_at desc",
        pipeline=None,
        month="first_declared_at",
        others={"dataset": "dataset = $1"},
    ),
    "lineage": Shape(
        "count(*), count(distinct source)", "declared_at desc", month="declared_at", others={"dataset": "source = $1"}
    ),
    "lineage_paths": Shape("count(*), max(depth)", "depth", pipeline=None, others={"dataset": "dataset = $1"}),
    "pipeline_versions": Shape("count(*), max(version)", "first_declared_at desc", month="first_declared_at"),
    "pipeline_changes": Shape("count(*), count(distinct field)", "changed_at desc", month="changed_at"),
}


def queries_of(view: str, subjects: Subjects) -> Iterator[Query]:
    """All that is asked of one view."""
    shape = SHAPES[view]
    for name, condition, arguments in filters_of(shape, subjects):
        yield Query(
            view, f"{name}, aggregate", f"select {shape.aggregate} from reporting.{view} {condition}", arguments
        )
        page = f"select * from reporting.{view} {condition} order by {shape.newest} limit {PAGE}"
        yield Query(view, f"{name}, first page", page, arguments)


def filters_of(shape: Shape, subjects: Subjects) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Name, condition and arguments of each filter."""
    if shape.pipeline:
        for name, pipeline in subjects.pipelines.items():
            yield name, f"where {shape.pipeline} = $1", (pipeline,)
    if shape.month:
        first, after = (as_held(at, shape.month) for at in subjects.month)
        yield "a month", f"where {shape.month} >= $1 and {shape.month} < $2", (first, after)
        newest = subjects.now - timedelta(days=DAYS.get(shape.month, 1))
        yield "the newest", f"where {shape.month} >= $1", (as_held(newest, shape.month),)
    for name, condition in shape.others.items():
        yield f"of one {name}", f"where {condition}", (subjects.others[name],)
    if shape.whole:
        yield "all", "", ()


def as_held(at: datetime, column: str) -> datetime | date:
    """The time as a column holds it: some hold dates."""
    return at.date() if column in DAYS else at
