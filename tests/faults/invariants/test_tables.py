"""Rows of the changelog against those of a plain fold: a good history passes, a bad one does not."""

from __future__ import annotations

from faults.invariants.tables import changelog_is_table, replay_equality
from watchline.streams.rows import RunsRow, encode_row, offset_of

ROW = encode_row(RunsRow(1, 5, baselines={"rows": b"\x01\x02"}))


def home(key: bytes) -> int:
    return len(key)


def test_equal_baselines_at_other_offsets_are_equal() -> None:
    later = encode_row(RunsRow(1, 6, baselines={"rows": b"\x01\x02"}))

    assert replay_equality({b"a": ROW}, {b"a": later}) == []


def test_a_baseline_that_differs_in_one_bit_is_seen() -> None:
    other = encode_row(RunsRow(1, 5, baselines={"rows": b"\x01\x03"}))

    (wrong,) = replay_equality({b"a": ROW}, {b"a": other})
    assert str(wrong) == "I4: the baseline of b'a' for rows is not that of the plain fold"


def test_a_baseline_that_is_lost_or_too_much_is_seen() -> None:
    bare = encode_row(RunsRow(1, 5))

    assert len(replay_equality({b"a": ROW}, {b"a": bare})) == 1
    assert len(replay_equality({b"a": bare}, {b"a": ROW})) == 1
    assert len(replay_equality({b"a": ROW}, {})) == 1


def test_a_row_in_its_own_partition_that_equals_the_table_passes() -> None:
    assert changelog_is_table({b"a": {1}}, {b"a": ROW}, {b"a": ROW}, partition_of=home) == []


def test_a_key_in_two_partitions_or_in_another_one_is_seen() -> None:
    for places in ({1, 2}, {2}):
        (stray,) = changelog_is_table({b"a": places}, {b"a": ROW}, {b"a": ROW}, partition_of=home)
        assert stray.invariant == "I5"


def test_a_row_that_is_old_missing_or_too_much_is_seen() -> None:
    old = encode_row(RunsRow(1, 4))

    for rows, expected in (({b"a": old}, {b"a": ROW}), ({}, {b"a": ROW}), ({b"a": ROW}, {})):
        assert len(changelog_is_table({b"a": {1}}, rows, expected, partition_of=home)) == 1


def test_the_offset_of_a_row_is_read_from_its_header() -> None:
    assert (offset_of(ROW), offset_of(encode_row(RunsRow(1)))) == (5, -1)
