"""The clock of a partition: pulses that travel in it, in order with its events.

Absence is decided by pulses only, so a backlog delays a verdict and never invents one.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import orjson

from watchline.streams.instants import SECOND, is_writable, to_datetime, to_micros

WRONG_AFTER = 300 * SECOND
TOLD_EVERY = 30 * SECOND
MISSING_PULSES = 3  # intervals without a pulse that are a gap
_PREFIX = b'{"pulse":'


def is_ahead(moment: int, at: int) -> bool:
    """Whether a moment lies so far after the pulse `at` that a clock which ran ahead, and was put right, has set it."""
    return moment >= at + WRONG_AFTER


def encode_pulse(at: int) -> bytes:
    """The record of a pulse at `at` (microseconds)."""
    return orjson.dumps({"pulse": to_datetime(at).isoformat()})


def decode_pulse(raw: bytes | None) -> int | None:
    """The time of a pulse in microseconds; None when the record is no pulse."""
    if raw is None or not raw.startswith(_PREFIX):
        return None
    try:
        at = to_micros(datetime.fromisoformat(orjson.loads(raw)["pulse"]))
    except (ValueError, TypeError, KeyError):
        return None  # it only looks like a pulse: the decoder of events will say what is wrong with it
    return at if is_writable(at) else None


@dataclass(slots=True)
class PartitionClock:
    """How far the log of one partition has been read, in the time of its pulses (microseconds)."""

    last: int | None = None
    settled_at: int = 0
    resumed_at: int = 0  # the pulse that ended the last gap: what was due before it could not be watched
    offset: int = -1  # of the newest pulse taken
    told_at: int = 0  # the pulse that was told last
    events: int = 0  # read since then

    def advance(self, at: int, *, offset: int, interval: float, settle: float) -> bool:
        """Take the pulse `at`; whether verdicts of absence may be given now.

        Time never goes back: an older or doubled pulse is ignored. But one that is minutes older says that a clock
        ran ahead and was put right: the newer time was wrong. After a gap of more than three intervals (or at the
        start, when it is not known whether there was one) verdicts are withheld for `settle` seconds, since events may
        still be on their way. A pulse that was taken before is read again after a crash: rows may lack its verdicts.
        """
        if offset <= self.offset:
            return self.settled_at <= at
        self.offset = offset
        if self.last is not None and at <= self.last and not is_ahead(self.last, at):
            return False
        if self.last is None or at < self.last or at - self.last > MISSING_PULSES * interval * SECOND:
            self.settled_at = at + int(settle * SECOND)
            self.resumed_at = at
        self.last = at
        return at >= self.settled_at

    def tell(self) -> int | None:
        """How many events were read since the pulse that was told last, if it is time to tell another; else None."""
        if self.last is None or 0 <= self.last - self.told_at < TOLD_EVERY:
            return None
        events, self.events, self.told_at = self.events, 0, self.last
        return events
