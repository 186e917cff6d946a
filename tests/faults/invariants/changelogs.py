"""What the changelog of a table holds, and where each pipeline stands in it."""

from __future__ import annotations

from faults.invariants.tails import Tail
from watchline.schemas import Topics
from watchline.streams.rows import offset_of


class Changelog:
    """The rows of one table as a recovery reads them: of each key the newest one by the offset it has absorbed."""

    def __init__(self, bootstrap_servers: str, topics: Topics, table: str = "runs") -> None:
        self.homes: dict[bytes, set[int]] = {}
        self.rows: dict[bytes, bytes] = {}
        self.late: list[str] = []  # rows that came after newer ones: what a worker wrote that had slept
        self._tail = Tail(bootstrap_servers, [topics.changelog(table)])

    async def read(self) -> Changelog:
        """Go on to what is the end now."""
        async for place, records in self._tail.read():
            for record in records:
                self._take(place.partition, record.key, record.value)
        return self

    @property
    def absorbed(self) -> dict[bytes, int]:
        """The source offset that the row of each key has absorbed."""
        return {key: offset_of(row) for key, row in self.rows.items()}

    def _take(self, partition: int, key: bytes, row: bytes | None) -> None:
        self.homes.setdefault(key, set()).add(partition)
        held = self.rows.get(key)
        if row is None:
            self.rows.pop(key, None)
        elif held is not None and offset_of(row) < offset_of(held):
            self.late.append(f"{key!r}: {offset_of(row)} after {offset_of(held)}")
        else:
            self.rows[key] = row
