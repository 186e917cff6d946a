"""What a person's answer teaches: every flagged and learnt run leaves a token, which says what it taught."""

from __future__ import annotations

from struct import Struct

from watchline.streams.detection import shift
from watchline.streams.detection.baseline import Baseline

_TOKEN = Struct("<BddddBB")  # version, residual, learnt residual, level rate, spread rate, weekday, hour slot
_VERSION = 1
_RESTARTED_RUNS = 5


def write_token(r: float, clipped: float, rate: float, spread_rate: float, slots: tuple[int, int]) -> bytes:
    """Remember in 35 bytes what a flagged run taught, and in which weekday and hour slot."""
    return _TOKEN.pack(_VERSION, r, clipped, rate, spread_rate, *slots)


def forgive(baseline: Baseline, token: bytes) -> None:
    """Teach what clipping withheld of a run that was normal after all. An empty token changes nothing."""
    if not token:
        return
    _, r, clipped, rate, spread_rate, weekday, hour = _TOKEN.unpack(token)
    withheld, wider = r - clipped, abs(r) - abs(clipped)
    baseline.level += rate * withheld
    baseline.spread += spread_rate * wider
    if r > 0.0:
        baseline.spread_above += min(1.0, 2.0 * spread_rate) * wider
    else:
        baseline.spread_below += min(1.0, 2.0 * spread_rate) * wider
    if baseline.weekday_seen[weekday]:
        baseline.weekday[weekday] += withheld / (min(baseline.weekday_seen[weekday], 4) + 1)
    if baseline.hour_seen[hour]:
        baseline.hour[hour] += withheld / (min(baseline.hour_seen[hour], 4) + 1)
    shift.reset(baseline)


def confirm(baseline: Baseline, token: bytes) -> None:
    """Take back what a run that was wrong taught the level. An empty token changes nothing."""
    if token:
        _, _, clipped, rate, *_ = _TOKEN.unpack(token)
        baseline.level -= rate * clipped


def accept_as_normal(baseline: Baseline, token: bytes = b"") -> None:
    """Move to the level of the run and warm up again from 5 runs on, keeping spread and calendar."""
    if token:
        _, r, clipped, rate, *_ = _TOKEN.unpack(token)
        baseline.level += r - rate * clipped
    baseline.runs = min(baseline.runs, _RESTARTED_RUNS)
    shift.forget(baseline)
    shift.reset(baseline)
