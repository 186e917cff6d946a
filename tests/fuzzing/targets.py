"""What is fed: each reads any bytes, and gives a value or the one error that it may raise."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from sinking.records import advanced, anomaly, declared, ended, incident, letter, resolved, started
from watchline.consumers.sink import run_rows
from watchline.schemas import FLAGS, BadEvent, Misconfigured, decode, decode_record, encode, encode_record
from watchline.schemas.records import SinkRecord
from watchline.streams.rows import (
    DeclarationRow,
    End,
    Mark,
    OpenIncident,
    Row,
    Run,
    RunsRow,
    WatermarksRow,
    decode_row,
    encode_row,
    pack_run,
    partition_of,
)

DATA = Path(__file__).parents[1] / "schemas" / "data"
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
REASONS = {
    "null_value", "empty_value", "too_large", "invalid_utf8", "invalid_json", "not_an_object", "too_deep",
    "too_many_fields", "number_too_large", "non_finite_number", "missing_field", "wrong_type", "invalid_uuid",
    "invalid_pipeline", "naive_timestamp", "invalid_timestamp", "timestamp_out_of_range", "unknown_event_type",
    "unsupported_schema_version",
}  # fmt: skip
SEED_BYTES = 5000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an input: a reason when it was refused; `kind` tells apart what is worth learning from."""

    reason: str | None
    kind: Hashable


@dataclass(frozen=True, slots=True)
class Target:
    """`feed` raises when a promise is broken; `seeds` is where inputs come from, `share` its part of the time."""

    name: str
    feed: Callable[[bytes], Outcome]
    seeds: Callable[[], Sequence[bytes]]
    share: int


def feed_decoder(raw: bytes) -> Outcome:
    """An Event that can be sent again and is clean then, or a BadEvent of the closed list.

    A mask may shorten a text so that more of it looks like a secret: such a text is masked once more.
    """
    try:
        event = decode(raw, now=NOW)
    except BadEvent as bad:
        return refused(bad)
    assert set(event.flags) <= set(FLAGS), event.flags
    again = decode(encode(event), now=NOW)
    assert set(again.flags) <= {"clock_skew", "watermark_ahead", "secret_masked"}, again.flags
    if "secret_masked" not in again.flags:
        assert again.model_dump() == event.model_dump(), "sent again, it is another event"
    return Outcome(None, (event.event_type, event.flags))


def feed_sink(raw: bytes) -> Outcome:
    """The sink's two decoders give a record or a BadEvent, and the fast one takes what the other takes."""
    try:
        outcome = Outcome(None, type(decode_record(raw)).__name__)
    except BadEvent as bad:
        outcome = refused(bad)
    try:
        run_rows.decode(raw)
    except BadEvent as bad:
        return refused(bad)
    return outcome


def feed_rows(raw: bytes) -> Outcome:
    """A row, or the error that stops a worker and says why; a row is written as it was read."""
    found = (feed_row(RunsRow, raw), feed_row(DeclarationRow, raw), feed_row(WatermarksRow, raw))
    return Outcome("unreadable" if all(found) else None, found)


def feed_row(kind: type[Row], raw: bytes) -> str:
    """Why there is no row of that kind, "" when there is one."""
    try:
        row = decode_row(kind, raw)
    except Misconfigured as wrong:
        return plain(str(wrong))
    written = encode_row(row)
    assert encode_row(decode_row(kind, written)) == written, "written and read, it is another row"
    assert partition_of(written) == row.partition
    return ""


def refused(bad: BadEvent) -> Outcome:
    assert bad.reason in REASONS, bad.reason
    assert len(bad.detail) < 250, bad.detail
    return Outcome(bad.reason, (bad.reason, plain(bad.detail)))


def plain(text: str) -> str:
    """The text without what differs from input to input."""
    return re.sub(r"\d+|'[^']*'|\"[^\"]*\"", "#", text)[:60]


def event_seeds() -> list[bytes]:
    """Valid events, and the known bad ones that are small."""
    lines = (json.loads(line) for line in (DATA / "cases.jsonl").read_text().splitlines())
    cases = [base64.b64decode(line["payload"] or "") for line in lines]
    valid = [path.read_bytes() for path in sorted((DATA / "valid").glob("*.json"))]
    return [*valid * 4, *(raw for raw in cases if len(raw) < SEED_BYTES)]


def record_seeds() -> list[bytes]:
    """Records of each kind, as the streams write them."""
    runs: list[SinkRecord] = [
        started(),
        ended(),
        ended(metrics={"m": 1.5}, flags=("clock_skew",), metadata_ended={"a": [1, None]}),
    ]
    others: list[SinkRecord] = [declared(), advanced(), anomaly(), incident(), resolved(), letter()]
    return [encode_record(record) for record in (*runs * 2, *others)]


def row_seeds() -> list[bytes]:
    """Rows of each kind with everything in them, and of a version to come."""
    identity = UUID(int=7).bytes
    end = End(identity, 9, "failed", "failed", 4, 1, 2, 3, 4, "w", (1, identity))
    run = Run(identity, 1, 1, True, identity, 2, 3.5, 4, "a", "b", "host", True, True, True, ["x"], end, identity)
    incident = OpenIncident("anomaly", "inserts", identity, 1, 2, "warn", "title", b"{}", run_id=identity)
    runs = encode_row(RunsRow(1, 9, [run], [pack_run(run)], identity, {"inserts": b"\x01\x02"}, 5, 6, [incident]))
    declaration = encode_row(DeclarationRow(2, 8, 1, 2, identity, b"{}"))
    watermarks = encode_row(WatermarksRow(3, 7, {"": Mark("timestamp", "x", 1, identity, 2)}, identity))
    return [runs, declaration, watermarks, b"\x02" + runs[1:], b""]


TARGETS = (
    Target("events", feed_decoder, event_seeds, 4),
    Target("records", feed_sink, record_seeds, 1),
    Target("rows", feed_rows, row_seeds, 1),
)
