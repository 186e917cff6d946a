"""One run that fails now, so that a person sees an alert: those of the history are too old to be sent."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from watchline.schemas.events import Event, PipelineDeclared, RunEnded, RunError, RunStarted

PIPELINE = "demo/orders_daily"
DURATION = timedelta(seconds=42)


def declaration(now: datetime) -> PipelineDeclared:
    """The small pipeline that is about to fail."""
    return PipelineDeclared(event_id=uuid4(), occurred_at=now, pipeline=PIPELINE, type="extraction", owner="sales")


def failing_run(now: datetime) -> tuple[Event, ...]:
    """A run of it that has just failed."""
    run_id = uuid4()
    return (
        RunStarted(event_id=uuid4(), occurred_at=now - DURATION, pipeline=PIPELINE, run_id=run_id),
        RunEnded(
            event_id=uuid4(),
            occurred_at=now,
            pipeline=PIPELINE,
            run_id=run_id,
            status="failed",
            started_at=now - DURATION,
            duration_ms=int(DURATION.total_seconds() * 1000),
            total_rows=0,
            error=RunError(type="ConnectionError", message="the order service closed the connection"),
        ),
    )
