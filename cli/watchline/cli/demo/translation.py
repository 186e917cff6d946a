"""From the history to events: a declaration per pipeline; a start, an end and perhaps a watermark per run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from uuid import uuid5

from watchline.cli.demo.history import NAMESPACE, CiRun
from watchline.schemas.declaration import AnomalyRule, Dataset
from watchline.schemas.events import (
    Event,
    PipelineDeclared,
    Producer,
    RunEnded,
    RunError,
    RunStarted,
    WatermarkAdvanced,
)

PRODUCER = Producer(name="jenkins")
# More failed tests are news, fewer are not; and ten more among thousands are an everyday matter.
RULES = (
    AnomalyRule(metric="failed_tests", direction="high", min_absolute_change=10),
    AnomalyRule(metric="skipped_tests", min_absolute_change=10),
)


def declarations(runs: Iterable[CiRun]) -> Iterator[PipelineDeclared]:
    """One declaration per pipeline, dated at its first run; `runs` oldest first."""
    seen: set[str] = set()
    for run in runs:
        if run.pipeline not in seen:
            seen.add(run.pipeline)
            yield declare(run)


def declare(first: CiRun) -> PipelineDeclared:
    """The declaration of the pipeline of its first run."""
    return PipelineDeclared(
        event_id=uuid5(NAMESPACE, first.pipeline),
        occurred_at=first.started_at,
        pipeline=first.pipeline,
        producer=PRODUCER,
        type="ci",
        owner=first.project,
        tags=("ci", "demo"),
        metadata={"source": "LRTS"},
        anomaly_rules=RULES,
        watermark_kind="timestamp",
        sources=(Dataset(name=f"github.com/apache/{first.project}", type="git", group="repository"),),
        targets=(Dataset(name=f"{first.pipeline} tests", type="junit", group="report"),),
    )


def events(run: CiRun) -> tuple[Event, ...]:
    """What the run would have emitted, in order."""
    if run.status == "succeeded":
        return started(run), ended(run), advanced(run)
    return started(run), ended(run)


def started(run: CiRun) -> RunStarted:
    return RunStarted(
        event_id=uuid5(run.run_id, "started"),
        occurred_at=run.started_at,
        pipeline=run.pipeline,
        producer=PRODUCER,
        run_id=run.run_id,
        labels=labels(run),
    )


def ended(run: CiRun) -> RunEnded:
    return RunEnded(
        event_id=uuid5(run.run_id, "ended"),
        occurred_at=run.ended_at,
        pipeline=run.pipeline,
        producer=PRODUCER,
        run_id=run.run_id,
        status=run.status,
        started_at=run.started_at,
        duration_ms=run.duration_seconds * 1000,
        total_rows=run.passed_tests,
        metrics={
            "failed_tests": run.failed_tests,
            "skipped_tests": run.skipped_tests,
            "test_classes": run.test_classes,
        },
        next_watermark=watermark(run) if run.status == "succeeded" else None,
        error=error(run),
        labels=labels(run),
    )


def advanced(run: CiRun) -> WatermarkAdvanced:
    return WatermarkAdvanced(
        event_id=uuid5(run.run_id, "watermark"),
        occurred_at=run.ended_at,
        pipeline=run.pipeline,
        producer=PRODUCER,
        run_id=run.run_id,
        watermark=watermark(run),
        kind="timestamp",
    )


def error(run: CiRun) -> RunError | None:
    if run.status == "succeeded":
        return None
    tests = run.passed_tests + run.failed_tests
    return RunError(type=run.result, message=f"Jenkins says {run.result}; {run.failed_tests} of {tests} tests failed")


def labels(run: CiRun) -> dict[str, str]:
    return {"branch": run.branch, "build": str(run.build), "result": run.result}


def watermark(run: CiRun) -> str:
    """How far the pipeline has come: the start of the run, in RFC 3339."""
    return run.started_at.isoformat().replace("+00:00", "Z")
