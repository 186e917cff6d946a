"""The disk outbox: what could not be delivered waits here for the next run of this host."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from watchline.sdk.harmless import warn_once
from watchline.sdk.identity import make_id
from watchline.sdk.message import Message, Rank

try:
    import fcntl
except ImportError:  # Windows: two processes may send the same segment twice, which changes nothing
    fcntl = None  # type: ignore[assignment]  # a module, or nothing

SEGMENT_BYTES = 1024 * 1024
ABANDONED_SECONDS = 3600.0


class Outbox:
    """Segments of JSON lines in one folder, shared by all processes of a host.

    A segment is written under another name, synced and renamed, so it is whole or absent. Whoever sends one holds its
    lock; the system drops the lock when that process dies, and the segment is sent again with the same event ids.
    """

    def __init__(self, folder: Path, *, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def store(self, messages: Sequence[Message]) -> tuple[list[Message], str]:
        """Keep messages on disk; returns those kept, and the reason why the others were not."""
        kept: list[Message] = []
        try:
            fitting = fit_messages(messages, self._max_bytes - self._used_bytes())
            for segment in split_messages(fitting, SEGMENT_BYTES):
                self._write(segment)
                kept += segment
        except OSError as error:
            warn_once("outbox", "watchline can't write its outbox %s, events have memory only: %s", self._folder, error)
            return kept, "outbox_failed"
        if len(kept) < len(messages):
            warn_once("outbox_full", "the outbox %s of watchline is full, events have memory only", self._folder)
        return kept, "outbox_full"

    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._segments()

    @contextmanager
    def claim(self) -> Iterator[Segment | None]:
        """The oldest segment that no other process is sending, locked for as long as the block runs; else None."""
        for path in self._segments():
            with suppress(FileNotFoundError), path.open("rb") as file:
                if lock_file(file) and path.exists():
                    yield Segment(path, read_messages(file))
                    return
        yield None

    def _segments(self) -> list[Path]:
        return sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []

    def _used_bytes(self) -> int:
        used = 0
        for path in self._folder.glob("*") if self._folder.is_dir() else ():
            with suppress(FileNotFoundError):
                found = path.stat()
                if path.suffix == ".part" and time.time() - found.st_mtime > ABANDONED_SECONDS:
                    path.unlink()  # its writer died
                    continue
                used += found.st_size
        return used

    def _write(self, messages: Sequence[Message]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self._folder / f"{make_id()}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(encode_line(message) for message in messages)
                file.flush()
                os.fsync(file.fileno())
            part.rename(part.with_suffix(".jsonl"))
        except OSError:
            part.unlink(missing_ok=True)
            raise


class Segment:
    """Some messages of an earlier process, claimed."""

    def __init__(self, path: Path, messages: list[Message]) -> None:
        self.messages = messages
        self._path = path

    def delete(self) -> None:
        """Forget them: they were delivered."""
        self._path.unlink(missing_ok=True)


def fit_messages(messages: Sequence[Message], room: int) -> list[Message]:
    """The messages that fit into `room` bytes, ends before starts, in their order."""
    keep: set[Message] = set()
    for rank in sorted(Rank, reverse=True):
        for message in messages:
            if message.rank is rank and (size := len(encode_line(message))) <= room:
                keep.add(message)
                room -= size
    return [message for message in messages if message in keep]


def split_messages(messages: Sequence[Message], size: int) -> Iterator[list[Message]]:
    """Pieces of about `size` bytes, in order."""
    piece: list[Message] = []
    held = 0
    for message in messages:
        piece.append(message)
        held += message.size
        if held >= size:
            yield piece
            piece, held = [], 0
    if piece:
        yield piece


def encode_line(message: Message) -> bytes:
    """One line of a segment."""
    line = {
        "topic": message.topic,
        "key": base64.b64encode(message.key).decode(),
        "value": base64.b64encode(message.value).decode(),
        "rank": int(message.rank),
    }
    return json.dumps(line).encode() + b"\n"


def read_messages(lines: IO[bytes]) -> list[Message]:
    """The messages of a segment; a line that is damaged is left out, with one warning."""
    messages = []
    for line in lines:
        try:
            found = json.loads(line)
            key, value = base64.b64decode(found["key"]), base64.b64decode(found["value"])
            messages.append(Message(str(found["topic"]), key, value, Rank(found["rank"])))
        except (ValueError, KeyError, TypeError) as error:
            warn_once("outbox_damaged", "a line of the outbox is damaged and left out: %s", error)
    return messages


def lock_file(file: IO[bytes]) -> bool:
    """Whether the lock of an open file is ours now, until it is closed."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
