"""How far the data is complete: the fold of `watermark.advanced`.

A `timestamp` or `integer` watermark never goes back: a lower one is recorded as a regression. A `text` watermark has no
order, so the one that was sent last (by time, then by id) holds.

A time that lies ahead of when it was sent is kept as it is, but counts only up to then: it hides no lag, and the
correct ones that follow are no regression.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from watchline.schemas import WatermarkAdvanced, flags
from watchline.schemas.declaration import WatermarkKind
from watchline.schemas.limits import CLOCK_SKEW
from watchline.schemas.records import WatermarkRecord, revision_of
from watchline.streams.effects import Effects
from watchline.streams.instants import is_writable, to_datetime, to_micros
from watchline.streams.rows import Mark, WatermarksRow, holds_digest, remember_digest

KEPT_DIGESTS = 64
MOST_AHEAD = CLOCK_SKEW // timedelta(microseconds=1)
MAX_MARKS_BYTES = 512 * 1024
FEW_MARKS = 8  # so few fit, however long they are


def fold_watermark(row: WatermarksRow, event: WatermarkAdvanced, *, now: int, epoch: int, effects: Effects) -> None:
    """Apply one advance, read at `now` (microseconds); a repetition of an event changes nothing.

    The first one of a dataset counts even from a clock that runs ahead, but as if it had been sent now.
    """
    if holds_digest(row.digests, event.event_id.bytes):
        return
    row.digests = remember_digest(row.digests, event.event_id.bytes, KEPT_DIGESTS)
    dataset = event.dataset or ""
    mark = row.marks.pop(dataset, None)
    regressed = mark is not None and _goes_back(mark, event)
    if mark is None:
        mark = _mark_of(event)
        mark.effective_at = min(mark.effective_at, now)
    elif regressed:
        mark.regressions += 1
    elif _advances(mark, event):
        mark = _mark_of(event, regressions=mark.regressions)
    row.marks[dataset] = mark  # the one heard of last stands last
    if len(row.marks) > FEW_MARKS:
        _make_room(row)
    effects.state.append(_record_of(event, dataset, mark, regressed, revision_of(epoch, row.offset)))


def _make_room(row: WatermarksRow) -> None:
    """Forget the datasets that were heard of longest ago: the row must fit into a record."""
    sizes = [(name, len(name.encode()) + len(mark.effective.encode()) + 40) for name, mark in row.marks.items()]
    excess = sum(size for _, size in sizes) - MAX_MARKS_BYTES
    for name, size in sizes:
        if excess <= 0:
            return
        del row.marks[name]
        excess -= size


def _mark_of(event: WatermarkAdvanced, regressions: int = 0) -> Mark:
    return Mark(event.kind, event.watermark, to_micros(event.occurred_at), event.event_id.bytes, regressions)


def _goes_back(mark: Mark, event: WatermarkAdvanced) -> bool:
    sent, held = _position_of_event(event), _position_of_mark(mark)
    return sent is not None and held is not None and event.kind == mark.kind and sent < held


def _advances(mark: Mark, event: WatermarkAdvanced) -> bool:
    """Whether `event` replaces `mark`; an event from a clock that runs ahead never does."""
    if flags.CLOCK_SKEW in event.flags:
        return False
    sent, held = _position_of_event(event), _position_of_mark(mark)
    if sent is not None and held is not None and event.kind == mark.kind and sent != held:
        return sent > held
    return (to_micros(event.occurred_at), event.event_id.bytes) > (mark.effective_at, mark.event_id)


def complete_until(row: WatermarksRow) -> int | None:
    """How far all data of a pipeline is complete (microseconds): its own watermark, else the least of its datasets.

    None when none of them is a time.
    """
    marks = [row.marks[""]] if "" in row.marks else list(row.marks.values())
    reached = [_position_of_mark(mark) for mark in marks if mark.kind == "timestamp"]
    return min((position for position in reached if position is not None), default=None)


def _position_of_event(event: WatermarkAdvanced) -> int | None:
    return _counted(event.kind, event.watermark, to_micros(event.occurred_at))


def _position_of_mark(mark: Mark) -> int | None:
    return _counted(mark.kind, mark.effective, mark.effective_at)


def _counted(kind: WatermarkKind, watermark: str, sent_at: int) -> int | None:
    """Where a watermark stands; a time that is ahead of its sending by more than clocks differ stands there.

    It is reckoned from the event and not from its flag, which a replay of old events does not give again.
    """
    position = position_of(kind, watermark)
    if kind == "timestamp" and position is not None and position > sent_at + MOST_AHEAD:
        return sent_at
    return position


def position_of(kind: WatermarkKind, watermark: str) -> int | None:
    """Where an ordered watermark stands (microseconds or the integer itself); None where there is no order."""
    try:
        if kind == "integer":
            return int(watermark)
        if kind == "timestamp":
            moment = datetime.fromisoformat(watermark)
            position = to_micros(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
            return position if is_writable(position) else None
    except (ValueError, OverflowError):
        return None  # it does not keep its declared kind, so it is compared as text
    return None


def _record_of(event: WatermarkAdvanced, dataset: str, mark: Mark, regressed: bool, revision: int) -> WatermarkRecord:
    return WatermarkRecord(
        pipeline=event.pipeline,
        revision=revision,
        dataset=dataset,
        event_id=event.event_id,
        run_id=event.run_id,
        kind=event.kind,
        watermark=event.watermark,
        effective=mark.effective,
        effective_at=to_datetime(mark.effective_at),
        occurred_at=event.occurred_at,
        regressed=regressed,
        regressions=mark.regressions,
        flags=event.flags,
    )
