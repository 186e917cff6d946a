"""Which pipeline is due when: a heap per partition, rebuilt from the rows, so that no pulse scans all pipelines."""

from __future__ import annotations

import heapq
from collections.abc import Iterable


class Deadlines:
    """The next deadline of every key of one partition (microseconds); setting it again replaces it."""

    def __init__(self, known: Iterable[tuple[bytes, int]] = ()) -> None:
        self._due: dict[bytes, int] = dict(known)
        self._heap = [(due, key) for key, due in self._due.items()]
        heapq.heapify(self._heap)

    def schedule(self, key: bytes, due: int | None) -> None:
        """Set the next deadline of `key`; None when nothing is pending."""
        if due is None:
            self._due.pop(key, None)
        elif self._due.get(key) != due:
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))

    def pop_due(self, at: int) -> list[bytes]:
        """Take the keys that are due at `at`, the longest due first."""
        taken = []
        while self._heap and self._heap[0][0] <= at:
            due, key = heapq.heappop(self._heap)
            if self._due.get(key) == due:
                del self._due[key]
                taken.append(key)
        return taken
