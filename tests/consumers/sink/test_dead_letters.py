"""What can't be used is kept with its bytes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

import pytest

from sinking.records import Sent, letter
from sinking.tables import Sinking

ALL_BYTES = bytes(range(256))


async def test_a_letter_of_the_streams_keeps_its_bytes_place_and_headers(sinking: Sinking) -> None:
    await sinking.store(letter(value=base64.b64encode(ALL_BYTES).decode(), log_epoch=4))

    [row] = await sinking.rows("dead_letters")
    headers = json.loads(row.pop("headers"))
    assert headers == [["trace", "AP8="], ["empty", None]]
    assert row == {
        "reason": "invalid_json",
        "detail": "at byte 3",
        "sqlstate": None,
        "source_topic": "watchline.runs",
        "source_partition": 1,
        "source_offset": 7,
        "log_epoch": 4,
        "source_timestamp": datetime.fromtimestamp(1_796_040_000, UTC),
        "key": b"orders\xc0\x00\xff",
        "value": ALL_BYTES,
        "failed_at": letter().failed_at,
        "status": "open",
        "redriven_at": None,
        "redriven_count": 0,
        "redriven_by": None,
        "discarded_at": None,
        "discarded_by": None,
        "discard_reason": None,
    } | {"key": base64.b64decode("b3JkZXJzAP8=")}


async def test_a_null_key_and_a_null_value_stay_null(sinking: Sinking) -> None:
    await sinking.store(letter(key=None, value=None, source_timestamp_ms=None))

    [row] = await sinking.rows("dead_letters")
    assert (row["key"], row["value"], row["source_timestamp"]) == (None, None, None)


async def test_one_place_of_one_log_is_kept_once(sinking: Sinking) -> None:
    await sinking.store(letter(1), letter(1), letter(2))
    await sinking.store(letter(1), letter(1, log_epoch=1))

    assert len(await sinking.rows("dead_letters")) == 3


@pytest.mark.parametrize("raw", [ALL_BYTES, b"", b"{", b'{"record_type": "nonsense"}', b'{"record_type": "run"}', None])
async def test_a_record_of_our_own_that_means_nothing_is_kept(sinking: Sinking, raw: bytes | None) -> None:
    odd = Sent(raw, 41, topic="t.state", key=b"\xff\x00", headers=(("nul\x00", b"\x00"), ("\ud800", None)))

    refused = await sinking.store_sent([odd])

    [row] = await sinking.rows("dead_letters")
    assert refused == 0
    assert (row["value"], row["key"], row["source_offset"]) == (raw, b"\xff\x00", 41)
    assert json.loads(row["headers"]) == [["nul\ufffd", "AA=="], ["?", None]]


@pytest.mark.parametrize("milliseconds", [-1, 2**63 - 1, 253_402_300_800_000])
async def test_a_timestamp_that_no_calendar_holds_is_unknown(sinking: Sinking, milliseconds: int) -> None:
    await sinking.store(letter(source_timestamp_ms=milliseconds))

    [row] = await sinking.rows("dead_letters")
    assert row["source_timestamp"] is None


async def test_text_that_is_no_base64_is_kept_as_it_is(sinking: Sinking) -> None:
    await sinking.store(letter(value="not base64!"))

    [row] = await sinking.rows("dead_letters")
    assert row["value"] == b"not base64!"
