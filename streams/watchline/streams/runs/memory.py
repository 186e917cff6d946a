"""What a row remembers of runs that ended: the ids of the newest, and up to when those ended that it has forgotten.

An event of a run that is neither held nor remembered is of a new run, or of one that ended long ago and is told again.
"""

from __future__ import annotations

from watchline.schemas import RunEnded, RunHeartbeat, RunStarted
from watchline.streams.instants import to_micros
from watchline.streams.pulses import is_ahead
from watchline.streams.rows import RunsRow, holds_digest, remember_digest

KEPT_DIGESTS = 64  # ids only: what comes later for these is passed on and judged no more


def retire(row: RunsRow, identity: bytes, ended_at: int) -> None:
    """Keep only the id of a run that was over at `ended_at`."""
    row.digests = remember_digest(row.digests, identity, KEPT_DIGESTS)
    forgotten = row.forgotten
    forgotten.newest, forgotten.count = max(forgotten.newest, ended_at), forgotten.count + 1
    if forgotten.count == KEPT_DIGESTS:  # from now on these ids go, one by one
        forgotten.until, forgotten.count = forgotten.newest, 0


def is_over(row: RunsRow, event: RunStarted | RunHeartbeat | RunEnded, clock: int) -> bool:
    """Whether an event, read after the pulse `clock`, is of a run that is over, or may be of one that was forgotten.

    That may be said of what is older than a run that was forgotten, and minutes older than the log.
    """
    if holds_digest(row.digests, event.run_id.bytes):
        return True
    at = to_micros(event.occurred_at)
    return at <= row.forgotten.until and is_ahead(clock, at)
