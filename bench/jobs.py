"""What jobs report: the events of runs with all six default metrics, steady enough that nothing is flagged."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid4

from watchline.schemas import EndStatus, Producer, RunEnded, RunError, RunStarted

PRODUCER = Producer(name="watchline-sdk", version="0.1.0", host="etl-7.example.org", pid=4711)


def start_of(pipeline: str, run_id: UUID, at: datetime) -> RunStarted:
    """A run of `pipeline` begins at `at`."""
    return RunStarted(
        event_id=uuid4(),
        occurred_at=at,
        pipeline=pipeline,
        producer=PRODUCER,
        run_id=run_id,
        watermark="2026-11-29",
        next_watermark="2026-11-30",
        labels={"stage": "prod"},
    )


def end_of(pipeline: str, run_id: UUID, at: datetime, number: int, status: EndStatus = "succeeded") -> RunEnded:
    """It ends at `at`; `number` varies its counts by the little that is normal."""
    return RunEnded(
        event_id=uuid4(),
        occurred_at=at,
        pipeline=pipeline,
        producer=PRODUCER,
        run_id=run_id,
        status=status,
        duration_ms=60_000 + number * 37 % 9000,
        inserts=1000 + number * 13 % 400,
        updates=300 + number * 7 % 90,
        deletes=number * 3 % 20,
        total_rows=90_000 + number * 17 % 5000,
        next_watermark="2026-11-30",
        error=RunError(type="RuntimeError", message="the source is gone") if status == "failed" else None,
        labels={"stage": "prod"},
    )
