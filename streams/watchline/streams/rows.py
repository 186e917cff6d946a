"""What the tables hold: one row a pipeline and table, opaque to Faust, a few KB at most.

A row is a header (format version, partition, source offset absorbed) and a msgpack body. An event at or below the
offset has been absorbed already and is skipped; the header can be read without the body.
"""

from __future__ import annotations

from struct import Struct as Layout
from typing import Any, Literal, TypeVar

import msgspec

from watchline.schemas.errors import Misconfigured
from watchline.schemas.records import ExcuseReason, ExpectedState, IncidentKind

FORMAT = 1
_CLOCK = b"\0clock "
_FORMAT_BYTE = bytes([FORMAT])
_HEADER = Layout(">BHq")
HINT = "run the version that wrote it, or rebuild the tables from the log under a new topic prefix"


class End(msgspec.Struct, array_like=True, gc=False):
    """The winning end of a run; texts and custom metrics are left to the sink, which keeps them by `event_id`."""

    event_id: bytes
    ended_at: int
    status: Literal["succeeded", "failed", "aborted", "unknown"]
    reported_status: str | None = None
    duration: int | None = None  # microseconds, as the job measured it
    inserts: int | None = None
    updates: int | None = None
    deletes: int | None = None
    total_rows: int | None = None
    next_watermark: str | None = None
    watermark_order: tuple[int, bytes] | None = None  # time and id of the end that named it, if it was another one
    attempt: int | None = None  # None: whichever is the last


class Run(msgspec.Struct, array_like=True, gc=False):
    """One run as merged so far; times in microseconds."""

    run_id: bytes
    started_at: int | None = None
    attempt: int | None = None
    backfill: bool = False
    parent_run_id: bytes | None = None
    nominal_at: int | None = None
    heartbeat_seconds: float | None = None
    last_heartbeat_at: int | None = None
    watermark: str | None = None
    next_watermark: str | None = None
    producer_host: str | None = None
    overdue: bool = False
    anomalous: bool = False
    judged: bool = False
    flags: list[str] = msgspec.field(default_factory=list)
    end: End | None = None
    start_order: bytes | None = None  # of the earliest start event: whose labels count
    seen_at: int | None = None  # its newest sign of life, on the clock of the log
    learned_limit: int | None = None  # how long it may take, as learned when it started
    lost: bool = False
    attempt_started_at: int | None = None  # of the newest attempt
    untold: bool = False  # it is overdue or lost, and a mute or a pause hid that


class OpenIncident(msgspec.Struct, array_like=True):
    """An incident that is not resolved; `clean_runs` counts towards its end, `facts` is JSON for its last message."""

    kind: IncidentKind
    subject: str
    incident_id: bytes
    opened_at: int
    cause_at: int
    severity: Literal["warn", "fail"]
    title: str
    facts: bytes
    transition_no: int = 1
    clean_runs: int = 0
    adopted: bool = False
    run_id: bytes | None = None
    acknowledged_at: int | None = None
    acknowledged_by: str | None = None
    snoozed_until: int | None = None
    note: str | None = None
    cleared_at: int | None = None  # since when its condition holds no more, while it is kept open
    clear_reason: Literal["recovered", "adopted"] = "recovered"
    flaps: int = 0  # how often the condition was gone and came back


class HeldFailure(msgspec.Struct, array_like=True):
    """A failed attempt that another one should follow; from `due` on it counts as the failure of its run."""

    run_id: bytes
    attempt: int
    due: int
    failed_at: int
    status: Literal["failed", "aborted"]
    error: str


class Slot(msgspec.Struct, array_like=True, gc=False):
    """One expected start; times in microseconds."""

    due: int
    state: ExpectedState = "expected"
    run_id: bytes | None = None
    started_at: int | None = None
    decided_at: int | None = None
    reason: ExcuseReason | None = None
    until: int | None = None  # when it stands for all that were due up to then


class Expected(msgspec.Struct, array_like=True):
    """The expected starts of a scheduled pipeline: the newest decided ones, those in their grace, the next one."""

    timetable: bytes  # digest of the schedule that they were reckoned by
    timezone: str
    grace: int
    reckoned_at: int  # when a pulse last changed them
    slots: list[Slot]  # oldest first; empty when the schedule never comes


class Promise(msgspec.Struct, array_like=True, gc=False):
    """Something that was promised by the clock: the last two times and the next one, in microseconds."""

    timetable: bytes  # digest of the times that it was reckoned by
    reckoned_at: int  # when a pulse last changed them
    next: int | None  # None when none comes
    previous: int | None = None
    since: int | None = None  # the one before `previous`
    missed: bool = False  # whether it was not kept at `previous`
    done: list[int] = msgspec.field(default_factory=list)  # when runs succeeded since then, oldest first
    expected: int | None = None  # how long a run takes, as learned
    warned: bool = False  # whether somebody was warned of the next one
    untold: bool = False  # it was not kept at `previous`, and a mute hid that


class Clock(msgspec.Struct, array_like=True, gc=False):
    """How far the pulses of one partition have been read; see `PartitionClock`."""

    last: int | None
    settled_at: int
    resumed_at: int


class Flagged(msgspec.Struct, array_like=True):
    """A metric of a run that was flagged, and what feedback on it needs; only the first answer teaches."""

    run_id: bytes
    metric: str
    token: bytes
    answered: bool = False


class Forgotten(msgspec.Struct, array_like=True, gc=False):
    """When the runs began whose ids the row holds no more; reckoned in steps, so that no digest needs a time."""

    until: int = 0  # none of them began later
    newest: int = 0  # when the last one began of all that ended
    count: int = 0  # how many came to the digests since `until` was set


class RunsRow(msgspec.Struct, array_like=True):
    """Everything about the runs of one pipeline that must change together."""

    partition: int
    offset: int = -1
    open: list[Run] = msgspec.field(default_factory=list)
    ended: list[bytes] = msgspec.field(default_factory=list)  # the newest few packed, oldest first: seldom looked at
    digests: bytes = b""  # of older ended runs, 8 bytes each, oldest first
    baselines: dict[str, bytes] = msgspec.field(default_factory=dict)
    last_change_at: int | None = None
    newest_outcome: int | None = None  # start of the newest run whose outcome counted
    incidents: list[OpenIncident] = msgspec.field(default_factory=list)
    expected: Expected | None = None
    clock: Clock | None = None  # in the one row a partition that is no pipeline's: see `clock_key`
    held: list[HeldFailure] = msgspec.field(default_factory=list)
    mutes: dict[str, int] = msgspec.field(default_factory=dict)  # by command: until when each check is muted
    quiet: list[str] = msgspec.field(default_factory=list)  # kinds closed by hand that have not been well since
    flagged: list[Flagged] = msgspec.field(default_factory=list)  # the newest few, oldest first
    complete_by: Promise | None = None
    done_by: Promise | None = None
    quiet_warnings: list[str] = msgspec.field(default_factory=list)  # those of `quiet` that only warned: worse is told
    newest_end: int | None = None  # when the last run ended whose outcome counted
    forgotten: Forgotten = msgspec.field(default_factory=Forgotten)


class DeclarationRow(msgspec.Struct, array_like=True):
    """The newest declaration of a pipeline, as the JSON it came in."""

    partition: int
    offset: int = -1
    first_declared_at: int = 0
    declared_at: int = 0
    event_id: bytes = b""
    declaration: bytes = b""


class Mark(msgspec.Struct, array_like=True):
    """The watermark of one dataset (or, under "", of the pipeline itself)."""

    kind: Literal["timestamp", "integer", "text"]
    effective: str
    effective_at: int
    event_id: bytes
    regressions: int = 0


class WatermarksRow(msgspec.Struct, array_like=True):
    """All watermarks of one pipeline, and digests of the newest events so that a repetition counts as nothing."""

    partition: int
    offset: int = -1
    marks: dict[str, Mark] = msgspec.field(default_factory=dict)
    digests: bytes = b""


Row = TypeVar("Row", RunsRow, DeclarationRow, WatermarksRow)
_encoder = msgspec.msgpack.Encoder()
_decoders: dict[type, msgspec.msgpack.Decoder[Any]] = {
    kind: msgspec.msgpack.Decoder(kind) for kind in (RunsRow, DeclarationRow, WatermarksRow)
}
_run_decoder = msgspec.msgpack.Decoder(Run)


def clock_key(partition: int) -> bytes:
    """Where the clock of a partition stands among its runs: no pipeline can have such a name.

    A row of runs without any, so that a worker of an earlier version reads it and finds nothing to do.
    """
    return _CLOCK + b"%d" % partition


def is_clock(key: bytes) -> bool:
    """Whether this is the key of a clock and not of a pipeline."""
    return key.startswith(_CLOCK)


def encode_row(row: RunsRow | DeclarationRow | WatermarksRow) -> bytes:
    """The bytes of `row` for its table and changelog."""
    return _HEADER.pack(FORMAT, row.partition, row.offset) + _encoder.encode(row)


def decode_row(kind: type[Row], raw: bytes) -> Row:
    """The row in `raw`; what this version can't read stops the worker (Misconfigured) rather than losing state."""
    if raw[:1] != _FORMAT_BYTE:
        raise Misconfigured(f"a table row has format {raw[0] if raw else None}, this version reads {FORMAT}", hint=HINT)
    try:
        row: Row = _decoders[kind].decode(memoryview(raw)[_HEADER.size :])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Misconfigured(f"a table row can't be read as {kind.__name__}: {error}", hint=HINT) from error
    return row


def pack_run(run: Run) -> bytes:
    """An ended run as it stays in its row: its id, then the rest, so that it can be found without being read."""
    return run.run_id + _encoder.encode(run)


def unpack_run(packed: bytes) -> Run:
    """The run in `packed`."""
    run: Run = _run_decoder.decode(memoryview(packed)[16:])
    return run


def partition_of(raw: bytes) -> int:
    """The partition that a row belongs to, without decoding its body."""
    partition: int = _HEADER.unpack_from(raw)[1]
    return partition


def offset_of(raw: bytes) -> int:
    """The source offset that a row has absorbed, without decoding its body."""
    offset: int = _HEADER.unpack_from(raw)[2]
    return offset


def remember_digest(digests: bytes, identity: bytes, keep: int) -> bytes:
    """Append the digest of a 16-byte id (its last 8 bytes, the random part of a UUID) and keep the newest `keep`."""
    return (digests + identity[8:])[-8 * keep :]


def holds_digest(digests: bytes, identity: bytes) -> bool:
    """Whether the digest of `identity` is among `digests`."""
    digest = identity[8:]
    found = digests.find(digest)
    while found != -1 and found % 8:
        found = digests.find(digest, found + 1)
    return found != -1
