"""The journal keeps in a file what was tried, what was acknowledged and where, and of what nobody knows."""

from __future__ import annotations

from pathlib import Path

from aiokafka import TopicPartition

from faults.chaos.journal import Journal


def test_what_was_acknowledged_is_read_back_with_its_place(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        journal.tried("ended:1")
        journal.tried("started:2")
        journal.acknowledged("ended:1", "runs", 3, 17)
        read = list(journal.acknowledgements())

    assert read == [(TopicPartition("runs", 3), 17, "ended:1")]


def test_an_answer_that_did_not_come_is_unknown_and_no_longer_pending(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        journal.tried("ended:1")
        journal.tried("ended:2")
        pending = journal.pending
        journal.unknown("ended:1")

        assert (pending, journal.pending) == (2, 1)
        assert list(journal.identities("unknown")) == ["ended:1"]
        assert list(journal.identities("tried")) == ["ended:1", "ended:2"]
