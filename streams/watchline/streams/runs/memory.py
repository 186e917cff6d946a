"""What a row remembers of runs that ended: the ids of the newest, and up to when those began that it has forgotten.

An event of a run that is neither held nor remembered is of a new run, or of one that ended long ago and is told again.
"""

from __future__ import annotations

from watchline.schemas import RunEnded, RunHeartbeat, RunStarted
from watchline.streams.instants import to_micros
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import Run, RunsRow, holds_digest, remember_digest
from watchline.streams.runs.merge import begun_at

KEPT_DIGESTS = 64  # ids only: what comes later for these is passed on and judged no more


def notice_over(row: RunsRow, run: Run) -> None:
    """Remember when a run began that is over."""
    row.forgotten.newest = max(row.forgotten.newest, begun_at(run) or 0)


def retire(row: RunsRow, identity: bytes) -> None:
    """Keep only the id of a run that is over."""
    row.digests = remember_digest(row.digests, identity, KEPT_DIGESTS)
    forgotten = row.forgotten
    forgotten.count += 1
    if forgotten.count == KEPT_DIGESTS:  # from now on these ids go, one by one
        forgotten.until, forgotten.count = forgotten.newest, 0


def is_over(row: RunsRow, event: RunStarted | RunHeartbeat | RunEnded, clock: int) -> bool:
    """Whether an event, read after the pulse `clock`, is of a run that is over, or may be of one that was forgotten.

    That may be said of a run that began no later than one that was forgotten, and minutes before the pulse.
    """
    if holds_digest(row.digests, event.run_id.bytes):
        return True
    begun = event.started_at if isinstance(event, RunEnded) else None
    at = to_micros(begun or event.occurred_at)
    return at <= row.forgotten.until and is_ahead(clock, at)
