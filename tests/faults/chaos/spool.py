"""Things that are kept in a file until the end, since there are too many for the memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class Spool(Generic[T]):
    """Takes one after the other and gives them back in their order, as often as asked."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self.count = path, path.open("wb"), 0

    def keep(self, one: T) -> None:
        """Append it."""
        pickle.dump(one, self._file)
        self.count += 1

    def __iter__(self) -> Iterator[T]:
        self._file.flush()
        with self._path.open("rb") as file:
            while True:
                try:
                    yield pickle.load(file)
                except EOFError:
                    return

    def close(self) -> None:
        """Take no more."""
        self._file.close()
