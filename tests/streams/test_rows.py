"""Rows and deadlines: what a table holds, and what is due."""

from __future__ import annotations

from uuid import uuid4

import pytest

from watchline.schemas import Misconfigured
from watchline.streams.deadlines import Deadlines
from watchline.streams.rows import (
    Run,
    RunsRow,
    decode_row,
    encode_row,
    holds_digest,
    partition_of,
    remember_digest,
)


def test_a_row_comes_back_as_it_was() -> None:
    row = RunsRow(3, 17, open=[Run(uuid4().bytes, flags=["x"])], baselines={"inserts": b"\x01\x02"})

    raw = encode_row(row)

    assert decode_row(RunsRow, raw) == row
    assert partition_of(raw) == 3


def test_a_row_of_a_later_format_stops_the_worker() -> None:
    raw = encode_row(RunsRow(0))

    with pytest.raises(Misconfigured, match="format 9"):
        decode_row(RunsRow, b"\x09" + raw[1:])


@pytest.mark.parametrize(
    "raw", [b"", b"\x01", b"\x01" * 30, encode_row(RunsRow(0))[:-1], encode_row(RunsRow(0)) + b"x"]
)
def test_a_row_that_is_damaged_stops_the_worker_and_says_what_to_do(raw: bytes) -> None:
    with pytest.raises(Misconfigured, match="a table row") as stopped:
        decode_row(RunsRow, raw)

    assert "rebuild the tables" in (stopped.value.hint or "")


def test_digests_keep_the_newest_and_match_only_whole_ones() -> None:
    ids = [uuid4().bytes for _ in range(5)]
    digests = b""

    for identity in ids:
        digests = remember_digest(digests, identity, 3)

    assert [holds_digest(digests, identity) for identity in ids] == [False, False, True, True, True]
    assert not holds_digest(b"\x00" * 4 + b"\x01" * 8 + b"\x02" * 4, b"\x00" * 8 + b"\x01" * 8)


def test_only_the_newest_deadline_of_a_key_counts() -> None:
    deadlines = Deadlines([(b"a", 10), (b"b", 20)])
    deadlines.schedule(b"a", 30)
    deadlines.schedule(b"c", 5)
    deadlines.schedule(b"b", None)

    assert deadlines.pop_due(20) == [b"c"]
    assert deadlines.pop_due(30) == [b"a"]
    assert deadlines.pop_due(99) == []
