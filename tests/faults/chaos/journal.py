"""The sender's own log: what it tried, what the broker acknowledged, and of what nobody knows. Kept in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from aiokafka import TopicPartition


class Acknowledged(NamedTuple):
    """One record that the broker has taken: its place in the log, and what it was."""

    place: TopicPartition
    offset: int
    identity: str


class Journal:
    """A line a record: tried before it is sent, then acknowledged with its place, or unknown.

    A send that timed out is unknown: it may stand in the log once, twice or not at all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("w", encoding="ascii")
        self.counts: Counter[str] = Counter()

    def tried(self, identity: str) -> None:
        self._write("tried", identity)

    def acknowledged(self, identity: str, topic: str, partition: int, offset: int) -> None:
        self._write("acknowledged", identity, topic, partition, offset)

    def unknown(self, identity: str) -> None:
        self._write("unknown", identity)

    @property
    def pending(self) -> int:
        """How many were tried and have had no answer yet."""
        return self.counts["tried"] - self.counts["acknowledged"] - self.counts["unknown"]

    def acknowledgements(self) -> Iterator[Acknowledged]:
        """Every acknowledged record, read from the file; one that was sent twice on purpose comes twice."""
        for what, identity, *place in self._lines():
            if what == "acknowledged":
                yield Acknowledged(TopicPartition(place[0], int(place[1])), int(place[2]), identity)

    def identities(self, what: str) -> Iterator[str]:
        """What was `tried`, `acknowledged` or `unknown`."""
        return (identity for said, identity, *_ in self._lines() if said == what)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def _write(self, what: str, *fields: object) -> None:
        self.counts[what] += 1
        print(what, *fields, file=self._file)

    def _lines(self) -> Iterator[list[str]]:
        self._file.flush()
        with self._path.open(encoding="ascii") as lines:
            yield from (line.split() for line in lines)
