"""A commit that ran ahead of the changelog is noticed, and one that did not is not."""

from __future__ import annotations

from faults.chaos.commits import Absorbed
from watchline.streams.rows import RunsRow, encode_row

EVENTS = [(0, b"a"), (1, b"b"), (2, b"a"), (5, b"b")]


def row(offset: int) -> bytes:
    return encode_row(RunsRow(0, offset))


def test_a_commit_up_to_what_the_rows_have_absorbed_is_fine() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take(b"a", row(2))
    absorbed.take(b"b", row(1))

    assert list(absorbed.short_of(3)) == []
    assert list(absorbed.short_of(5)) == []


def test_a_commit_of_an_event_that_no_row_has_absorbed_is_ahead() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take(b"a", row(2))

    assert list(absorbed.short_of(1)) == []
    assert list(absorbed.short_of(2)) == ["2 was committed, and no row had absorbed 1 of b'b'"]


def test_an_older_row_that_comes_late_takes_nothing_back() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take(b"a", row(2))
    absorbed.take(b"a", row(0))
    absorbed.take(b"b", row(5))

    assert list(absorbed.short_of(6)) == []
