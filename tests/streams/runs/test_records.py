"""The record of a run as bytes: what the streams write is what the contract reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from folds.log import NOON, Log, ended, identity, started
from watchline.schemas import RunRecord, decode_record, encode_record
from watchline.streams.publishing import encode_run

STORY = (
    started(
        "a", watermark="1", nominal_at=NOON, parent_run_id=identity("m"), labels={"b": "ü"}, metadata={"deep": [1]}
    ),
    ended(
        "a", NOON + timedelta(minutes=1), "failed", inserts=2**63 - 1, metrics={"m": 1e308}, labels={"c": ""},
        error={"type": "E", "message": "no"}, metadata={"x": None}, next_watermark="2", reported_status="exploded",
    ),
)  # fmt: skip


@pytest.mark.parametrize("events", [STORY[:1], STORY[1:], STORY], ids=["start", "end", "both"])
def test_the_bytes_are_those_of_the_model(events: tuple[Any, ...]) -> None:
    log = Log()

    log.append(*events)

    record = log.newest("a")
    written = encode_run(record.model_dump(exclude_none=True))
    assert decode_record(written) == record
    assert decode_record(encode_record(record)) == record


def test_every_field_of_the_model_is_filled_by_a_full_story() -> None:
    log = Log()
    log.append(*STORY)

    filled = log.newest("a").model_fields_set

    rest = {"heartbeat_seconds", "last_heartbeat_at", "updates", "deletes", "total_rows", "producer_host"}
    assert set(RunRecord.model_fields) - filled == rest


def test_an_integer_past_64_bits_in_metadata_is_kept() -> None:
    log = Log()

    log.append(started("a", metadata={"big": 2**70}))

    written = decode_record(encode_run(log.newest("a").model_dump(exclude_none=True)))
    assert isinstance(written, RunRecord)
    assert written.metadata_started == {"big": 2**70}
