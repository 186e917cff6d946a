"""Rows that released versions left in the changelog are read by this one; `rows_format_1.json` is never edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from watchline.schemas import Misconfigured
from watchline.streams.rows import (
    FORMAT,
    Clock,
    DeclarationRow,
    End,
    Expected,
    Mark,
    OpenIncident,
    Run,
    RunsRow,
    Slot,
    WatermarksRow,
    decode_row,
    encode_row,
    pack_run,
    partition_of,
    unpack_run,
)

RELEASED = json.loads((Path(__file__).parents[1] / "releases" / "data" / "rows_format_1.json").read_text())
ID = bytes(range(16))
NOON = 1_796_040_000_000_000

END = End(ID, NOON + 5, "failed", "crashed", 300_250_000, 1, 2, 3, 2**63 - 1, "2026-11-30", (NOON, ID))
RUN = Run(
    ID, NOON, 2, True, ID, NOON - 1, 30.5, NOON + 1, "w0", "w1", "etl-1", True, True, True, ["clock_skew"], END, ID
)  # fmt: skip
INCIDENT = OpenIncident(
    "anomaly", "", ID, NOON, NOON - 2, "fail", "inserts below the expected range", b"[]", 3, 1, True, ID
)  # fmt: skip
ROWS: dict[str, Any] = {
    "runs": RunsRow(
        3, 2**40, [RUN, Run(ID)], [pack_run(RUN)], ID, {"inserts": b"\x00\xff"}, NOON, NOON + 7, [INCIDENT]
    ),
    "declaration": DeclarationRow(7, 12, NOON, NOON + 1, ID, b'{"pipeline":"orders_daily"}'),
    "watermarks": WatermarksRow(0, 99, {"": Mark("timestamp", "2026-11-30", NOON, ID, 2)}, ID),
}  # fmt: skip


def whole(row: Any) -> dict[str, Any]:
    """A row with its ended runs unpacked: their bytes may have more at their end today."""
    fields = msgspec.structs.asdict(row)
    return fields | {"ended": [unpack_run(packed) for packed in fields["ended"]]} if "ended" in fields else fields


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_a_released_version_is_read_as_it_was_meant(name: str) -> None:
    raw, row = bytes.fromhex(RELEASED[name]), ROWS[name]

    assert raw[0] == 1
    assert whole(decode_row(type(row), raw)) == whole(row)
    assert partition_of(raw) == row.partition


def test_an_ended_run_within_such_a_row_is_read() -> None:
    row = decode_row(RunsRow, bytes.fromhex(RELEASED["runs"]))

    assert unpack_run(row.ended[0]) == RUN


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_ends_early_has_the_defaults_of_what_came_later(name: str) -> None:
    """The first release wrote fewer columns; a row of a later one may have more at its end."""
    kind = type(ROWS[name])
    oldest = bytes.fromhex(RELEASED["oldest"])

    assert decode_row(kind, oldest) == kind(5, 6)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_a_newer_version_stops_the_worker_and_says_what_to_do(name: str) -> None:
    raw = bytes([FORMAT + 1]) + bytes.fromhex(RELEASED[name])[1:]

    with pytest.raises(Misconfigured, match=f"format {FORMAT + 1}, this version reads {FORMAT}") as caught:
        decode_row(type(ROWS[name]), raw)

    assert "run the version that wrote it" in (caught.value.hint or "")


EXPECTED = Expected(
    b"digest01", "Europe/Berlin", 900_000_000, NOON,
    [
        Slot(NOON - 7, "late", ID, NOON - 1, NOON),
        Slot(NOON, "excused", None, None, NOON, "paused", NOON + 5),
        Slot(NOON + 9),
    ],
)  # fmt: skip
# As the first version with slots wrote it.
WITH_SLOTS = (
    "01000300000100000000009b03cf00000100000000009090c40080cf0006617d2633d000c09095c4086469676573743031ad"
    "4575726f70652f4265726c696ece35a4e900cf0006617d2633d0009397cf0006617d2633cff9a46c617465c4100001020304"
    "05060708090a0b0c0d0e0fcf0006617d2633cfffcf0006617d2633d000c0c097cf0006617d2633d000a765786375736564c0"
    "c0cf0006617d2633d000a6706175736564cf0006617d2633d00597cf0006617d2633d009a86578706563746564c0c0c0c0c0"
    "c0"
)


class RowBeforeSlots(msgspec.Struct, array_like=True):
    """What a row of runs was before."""

    partition: int
    offset: int
    open: list[Run]
    ended: list[bytes]
    digests: bytes
    baselines: dict[str, bytes]
    last_change_at: int | None
    newest_outcome: int | None
    incidents: list[OpenIncident]


def test_a_row_with_slots_is_read_as_it_was_meant() -> None:
    row = decode_row(RunsRow, bytes.fromhex(WITH_SLOTS))

    assert row == RunsRow(3, 2**40, last_change_at=NOON, expected=EXPECTED)


@pytest.mark.parametrize("more", [{"expected": EXPECTED}, {"clock": Clock(NOON, NOON, NOON)}])
def test_a_worker_of_the_version_before_reads_what_it_knows_of_such_a_row(more: dict[str, Any]) -> None:
    raw = encode_row(RunsRow(3, 7, [RUN], last_change_at=NOON, **more))

    read = msgspec.msgpack.decode(raw[11:], type=RowBeforeSlots)

    assert (read.open, read.last_change_at, read.incidents) == ([RUN], NOON, [])
