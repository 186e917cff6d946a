"""The disk outbox: whole segments, one sender each, and no harm from a bad disk."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watchline.sdk.message import Message, Rank
from watchline.sdk.outbox import Outbox, encode_line, fit_messages

MIB = 1024 * 1024


def message(value: bytes = b"{}", rank: Rank = Rank.END) -> Message:
    return Message("watchline.runs", "ü".encode(), value, rank)


def await_another_name() -> None:
    """Names are ordered by the millisecond."""
    began = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == began:
        pass


def contents(messages: list[Message]) -> list[tuple[str, bytes, bytes, Rank]]:
    return [(item.topic, item.key, item.value, item.rank) for item in messages]


def test_what_is_stored_is_read_as_it_was(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "a" / "b", max_bytes=MIB)
    stored = [message(bytes(range(256))), message(rank=Rank.START)]

    assert outbox.store(stored) == (stored, "outbox_full")

    with outbox.claim() as segment:
        assert segment is not None
        assert contents(segment.messages) == contents(stored)
        segment.delete()
    assert outbox.is_empty()


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", max_bytes=MIB)

    outbox.store([message()])

    (segment,) = (tmp_path / "outbox").glob("*.jsonl")
    assert stat.S_IMODE(segment.stat().st_mode) == 0o600
    assert stat.S_IMODE(segment.parent.stat().st_mode) == 0o700


def test_segments_come_oldest_first_and_stay_until_they_are_deleted(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, max_bytes=MIB)
    for value in (b"1", b"2"):
        outbox.store([message(value)])
        await_another_name()

    seen = []
    for delete in (False, True, True):
        with outbox.claim() as segment:
            assert segment is not None
            seen.append(segment.messages[0].value)
            if delete:
                segment.delete()

    assert seen == [b"1", b"1", b"2"]


def test_a_segment_is_claimed_by_one_at_a_time(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, max_bytes=MIB)
    outbox.store([message()])

    with outbox.claim() as first, Outbox(tmp_path, max_bytes=MIB).claim() as second:
        assert first is not None
        assert second is None


def test_the_claim_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, max_bytes=MIB)
    outbox.store([message()])
    code = (
        "import os, sys; from pathlib import Path; from watchline.sdk.outbox import Outbox;"
        "claim = Outbox(Path(sys.argv[1]), max_bytes=1).claim(); assert claim.__enter__(); os.kill(os.getpid(), 9)"
    )

    died = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)

    assert died.returncode == -9
    with outbox.claim() as segment:
        assert segment is not None


def test_a_half_written_segment_is_not_sent_and_does_not_stay(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, max_bytes=MIB)
    part = tmp_path / "x.part"
    part.write_bytes(encode_line(message())[:20])
    os.utime(part, (0, 0))

    assert outbox.is_empty()
    outbox.store([message()])

    assert not part.exists()


def test_a_damaged_line_costs_only_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outbox = Outbox(tmp_path, max_bytes=MIB)
    (tmp_path / "0.jsonl").write_bytes(b"\xff{\n" + encode_line(message(b"good")) + b'{"topic": 1}\n[]\n')

    with outbox.claim() as segment:
        assert segment is not None
        assert [item.value for item in segment.messages] == [b"good"]
    assert "damaged" in caplog.text


def test_the_size_is_capped_and_ends_go_first(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    start, end = message(b"start" * 20, Rank.START), message(b"end" * 20)
    outbox = Outbox(tmp_path, max_bytes=len(encode_line(start)) + 10)

    kept, reason = outbox.store([start, end])

    assert (kept, reason) == ([end], "outbox_full")
    with outbox.claim() as segment:
        assert segment is not None
        assert segment.messages[0].value == end.value
    assert outbox.store([start]) == ([], "outbox_full")
    assert "full" in caplog.text


def test_order_is_kept_among_what_fits() -> None:
    start, end, other = message(rank=Rank.START), message(), message(rank=Rank.START)

    assert fit_messages([start, end, other], MIB) == [start, end, other]


def test_a_disk_that_fails_is_said_once_and_used_again_when_it_works(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    (tmp_path / "file").write_text("in the way")
    outbox = Outbox(tmp_path / "file" / "outbox", max_bytes=MIB)

    outcomes = [outbox.store([message()]) for _ in range(3)]
    (tmp_path / "file").unlink()
    kept = message()

    assert outcomes == [([], "outbox_failed")] * 3
    assert len(caplog.records) == 1
    assert outbox.store([kept])[0] == [kept]


def test_a_full_disk_leaves_no_part_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    outbox = Outbox(tmp_path, max_bytes=MIB)

    assert outbox.store([message()]) == ([], "outbox_failed")
    assert list(tmp_path.iterdir()) == []


STORE_MANY = """
import os, sys
from pathlib import Path
from watchline.sdk.message import Message, Rank
from watchline.sdk.outbox import Outbox
outbox = Outbox(Path(sys.argv[1]), max_bytes=1 << 20)
for n in range(20):
    outbox.store([Message("t", b"k", f"{os.getpid()}-{n}".encode(), Rank.END)])
"""


def test_many_processes_may_store_at_once(tmp_path: Path) -> None:
    workers = [subprocess.Popen([sys.executable, "-c", STORE_MANY, str(tmp_path)]) for _ in range(3)]
    codes = [worker.wait() for worker in workers]

    outbox, seen = Outbox(tmp_path, max_bytes=MIB), []
    while not outbox.is_empty():
        with outbox.claim() as segment:
            assert segment is not None
            seen += [item.value for item in segment.messages]
            segment.delete()

    assert codes == [0, 0, 0]
    assert len(seen) == len(set(seen)) == 60
