"""Runs and incidents of some age."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from sinking import records
from sinking.records import name_id
from watchline.schemas.records import AnomalyRecord, IncidentRecord, RunRecord

REVISIONS = count(1)
LENGTH = timedelta(minutes=5)
PIPELINE = "orders_daily"


def run_at(at: datetime, name: str, *, length: timedelta = LENGTH, **changes: Any) -> RunRecord:
    """A run that succeeded after `length` and changed nothing; only its end was told with `started_at=None`."""
    fields: dict[str, Any] = {
        "revision": next(REVISIONS), "started_at": at, "ended_at": at + length, "inserts": 0,
    }  # fmt: skip
    return records.ended(name, **fields | changes)


def open_run(started_at: datetime, name: str, **changes: Any) -> RunRecord:
    """A run that goes on."""
    return records.started(name, revision=next(REVISIONS), started_at=started_at, **changes)


def fresh(now: datetime, *pipelines: str) -> list[RunRecord]:
    """A new run of each pipeline, so that an old one is neither its newest, nor its newest success or change."""
    return [run_at(now, f"{name} now", pipeline=name, inserts=5) for name in pipelines or (PIPELINE,)]


def anomaly_of(run: RunRecord, metric: str = "inserts", **changes: Any) -> AnomalyRecord:
    """A verdict on a run that has ended."""
    fields: dict[str, Any] = {
        "revision": next(REVISIONS), "anomaly_id": name_id(f"{run.run_id} {metric}"), "run_id": run.run_id,
        "pipeline": run.pipeline, "run_started_at": run.started_at, "run_ended_at": run.ended_at,
    }  # fmt: skip
    return records.anomaly(metric, **fields | changes)


def opening(at: datetime, name: str, **changes: Any) -> IncidentRecord:
    """An incident that opens."""
    fields: dict[str, Any] = {
        "revision": next(REVISIONS), "fingerprint": name, "at": at, "opened_at": at, "cause_at": at,
    }  # fmt: skip
    return records.incident(name, **fields | changes)


def incident_until(resolved_at: datetime, name: str, **changes: Any) -> tuple[IncidentRecord, IncidentRecord]:
    """An incident that was open for an hour, and its end."""
    opened = opening(resolved_at - timedelta(hours=1), name, **changes)
    end = opened.model_copy(
        update={
            "revision": next(REVISIONS), "transition": "resolved", "transition_no": 2, "at": resolved_at,
            "resolved_at": resolved_at, "resolve_reason": "recovered",
        }
    )  # fmt: skip
    return opened, end
