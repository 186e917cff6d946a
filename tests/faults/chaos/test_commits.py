"""A commit that ran ahead of the changelog is noticed, and one that did not is not."""

from __future__ import annotations

from pathlib import Path

from faults.chaos.commits import Absorbed
from faults.chaos.spool import Spool

EVENTS = [(0, b"a"), (1, b"b"), (2, b"a"), (5, b"b")]


def test_a_commit_up_to_what_the_rows_have_absorbed_is_fine() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take({b"a": 2, b"b": 1})

    assert list(absorbed.short_of(3)) == []
    assert list(absorbed.short_of(5)) == []


def test_a_commit_of_an_event_that_no_row_has_absorbed_is_ahead() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take({b"a": 2})

    assert list(absorbed.short_of(1)) == []
    assert list(absorbed.short_of(2)) == ["2 was committed, and no row had absorbed 1 of b'b'"]


def test_an_older_row_that_comes_late_takes_nothing_back() -> None:
    absorbed = Absorbed(EVENTS)
    absorbed.take({b"a": 2})
    absorbed.take({b"a": 0, b"b": 5})

    assert list(absorbed.short_of(6)) == []


def test_what_is_spooled_comes_back_in_its_order_as_often_as_asked(tmp_path: Path) -> None:
    spool: Spool[int] = Spool(tmp_path / "spool")
    for number in range(3):
        spool.keep(number)

    assert list(spool) == list(spool) == [0, 1, 2]
    assert spool.count == 3
    spool.close()
