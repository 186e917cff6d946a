"""The canonical row of an expected start, as the sink receives it."""

from __future__ import annotations

from uuid import UUID

from watchline.schemas.records import ExpectedRunRecord, revision_of
from watchline.streams.instants import SECOND, to_datetime
from watchline.streams.rows import Expected, Slot


def record_of(pipeline: str, slot: Slot, expected: Expected, *, epoch: int, offset: int) -> ExpectedRunRecord:
    """What is known of `slot` after the source record at `offset`."""
    return ExpectedRunRecord(
        pipeline=pipeline,
        revision=revision_of(epoch, offset),
        due_at=to_datetime(slot.due),
        state=slot.state,
        reason=slot.reason,
        timezone=expected.timezone,
        grace_seconds=expected.grace / SECOND,
        run_id=UUID(bytes=slot.run_id) if slot.run_id else None,
        started_at=None if slot.started_at is None else to_datetime(slot.started_at),
        decided_at=None if slot.decided_at is None else to_datetime(slot.decided_at),
        until=None if slot.until is None else to_datetime(slot.until),
    )
