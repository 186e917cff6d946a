"""Folding the records of one run into one, by the rules that the runs upsert repeats in SQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from watchline.consumers.sink.run_rows import RunRow

# None is "not known" in these and never overwrites.
KNOWN = (
    "parent_run_id",
    "started_at",
    "nominal_at",
    "backfill",
    "heartbeat_seconds",
    "watermark",
    "last_heartbeat_at",
    "labels_started",
    "metadata_started",
    "producer_host",
)
# These belong to one end event and go together.
ENDING = (
    "status",
    "reported_status",
    "end_event_id",
    "ended_at",
    "duration_seconds",
    "inserts",
    "updates",
    "deletes",
    "total_rows",
    "throughput",
)
SENT_ONCE = ("metrics", "error", "labels_ended", "metadata_ended")  # these too, but only with the end itself
NEVER = datetime.min.replace(tzinfo=UTC)


def merge_runs(records: list[RunRow]) -> list[RunRow]:
    """One record per run, merged in order of revision."""
    merged: dict[UUID, RunRow] = {}
    for record in records:
        known = merged.get(record.run_id)
        merged[record.run_id] = record if known is None else merge(known, record)
    return list(merged.values())


def superseded(records: list[RunRow]) -> list[RunRow]:
    """Of every attempt that ended and was followed by another one among `records`: its last word."""
    newest = {one.run_id: attempt_of(one) for one in sorted(records, key=attempt_of)}
    ended: dict[tuple[UUID, int], RunRow] = {}
    for record in records:
        place = (record.run_id, attempt_of(record))
        if record.end_event_id is not None and place[1] < newest[record.run_id]:
            known = ended.get(place)
            ended[place] = record if known is None or takes_the_end(known, record) else known
    return list(ended.values())


def merge(one: RunRow, other: RunRow) -> RunRow:
    """The two records of a run as one, with the higher revision; equal revisions are the same record."""
    if one.revision == other.revision and attempt_of(one) == attempt_of(other):
        return one
    older, newer = sorted((one, other), key=lambda record: (record.revision, attempt_of(record)))
    kept: dict[str, Any] = {name: getattr(older, name) for name in KNOWN if getattr(newer, name) is None}
    ends = takes_the_end(older, newer)
    if not ends:
        kept |= {name: getattr(older, name) for name in (*ENDING, *SENT_ONCE)}
    elif same_end(older, newer):
        kept |= {name: getattr(older, name) for name in SENT_ONCE if not getattr(newer, name)}
    kept["anomalous"] = (newer.anomalous or (older.anomalous and same_end(older, newer))) if ends else older.anomalous
    if attempt_of(newer) < attempt_of(older) or (
        attempt_of(newer) == attempt_of(older) and newer.next_watermark is None
    ):
        kept["next_watermark"] = older.next_watermark  # it belongs to an attempt, as the end does
    kept["attempt"] = max(one.attempt or 0, other.attempt or 0) or None
    kept["overdue"] = older.overdue or newer.overdue
    if is_partial(newer):
        kept["flags"] = tuple(sorted({*older.flags, *newer.flags}))
    return msgspec.structs.replace(newer, **kept)


def is_partial(record: RunRow) -> bool:
    """Whether a record knows only what its own events said: the streams no longer held the run."""
    return record.backfill is None


def same_end(one: RunRow, other: RunRow) -> bool:
    """Whether both records speak of the same end event, or of the same attempt that has none yet."""
    if one.end_event_id is None:
        return other.end_event_id is None and attempt_of(one) == attempt_of(other)
    return one.end_event_id == other.end_event_id


def attempt_of(record: RunRow) -> int:
    """Which try the record speaks of, the first if it does not say."""
    return record.attempt or 1


def takes_the_end(older: RunRow, newer: RunRow) -> bool:
    """Whether the newer record's ending counts: that of a later attempt does, and so does a later end.

    A record without an end never undoes one of the same attempt.
    """
    if attempt_of(older) != attempt_of(newer):
        return attempt_of(newer) > attempt_of(older)
    if older.end_event_id is None:
        return True
    if newer.end_event_id is None:
        return False
    return (newer.ended_at or NEVER, newer.end_event_id) >= (older.ended_at or NEVER, older.end_event_id)
