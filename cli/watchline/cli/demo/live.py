"""One run that fails now, so that a person sees an alert: those of the history are too old to be sent.

It has started another one that did its work, so that there is a tree of runs to look at.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from watchline.schemas.declaration import Dataset, Timeliness
from watchline.schemas.events import Event, PipelineDeclared, RunEnded, RunError, RunStarted

PIPELINE, STEP = "demo/orders_daily", "demo/orders_load"
DURATION, STEP_DURATION = timedelta(seconds=42), timedelta(seconds=30)
SHOP = Dataset(name="shop.orders", type="postgres")
STAGED = Dataset(name="staging.orders", type="snowflake", group="warehouse")
REPORTED = Dataset(name="sales.orders_daily", type="snowflake", group="warehouse")


def declarations(now: datetime) -> tuple[PipelineDeclared, ...]:
    """The small pipeline that is about to fail, as it was a month ago and as it is, and its first step."""
    return (
        PipelineDeclared(
            event_id=uuid4(), occurred_at=now - timedelta(days=30), pipeline=PIPELINE, type="transformation",
            owner="shop", sources=(SHOP,), targets=(REPORTED,),
        ),
        PipelineDeclared(
            event_id=uuid4(), occurred_at=now, pipeline=STEP, type="extraction", owner="sales",
            sources=(SHOP,), targets=(STAGED,),
        ),
        PipelineDeclared(
            event_id=uuid4(), occurred_at=now, pipeline=PIPELINE, type="transformation", owner="sales",
            timeliness=Timeliness(max_duration_seconds=600), sources=(STAGED,), targets=(REPORTED,),
        ),
    )  # fmt: skip


def failing_run(now: datetime) -> tuple[Event, ...]:
    """A run of it that has just failed, after its first step had succeeded."""
    run_id, step_id, began = uuid4(), uuid4(), now - DURATION
    return (
        RunStarted(event_id=uuid4(), occurred_at=began, pipeline=PIPELINE, run_id=run_id),
        RunStarted(event_id=uuid4(), occurred_at=began, pipeline=STEP, run_id=step_id, parent_run_id=run_id),
        RunEnded(
            event_id=uuid4(), occurred_at=began + STEP_DURATION, pipeline=STEP, run_id=step_id, status="succeeded",
            started_at=began, duration_ms=milliseconds(STEP_DURATION), inserts=1_204, total_rows=1_204,
        ),
        RunEnded(
            event_id=uuid4(),
            occurred_at=now,
            pipeline=PIPELINE,
            run_id=run_id,
            status="failed",
            started_at=began,
            duration_ms=milliseconds(DURATION),
            total_rows=0,
            error=RunError(type="ConnectionError", message="the order service closed the connection"),
        ),
    )  # fmt: skip


def milliseconds(duration: timedelta) -> int:
    """A duration as events have it, in whole milliseconds."""
    return int(duration.total_seconds() * 1000)
