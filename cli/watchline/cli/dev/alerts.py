"""What the notifier prints, brought to this terminal line by line."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable


class AlertPipe:
    """A pipe whose `writer` is given to the notifier as its stdout; every line is handed to `show`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._reader, self.writer = os.pipe()
        self._show = show
        self._thread = threading.Thread(target=self._pump, name="alerts", daemon=True)

    def start(self) -> None:
        """Begin to read, once the notifier holds its end: ours is closed so that its end is the end."""
        os.close(self.writer)
        self._thread.start()

    def finish(self, *, seconds: float = 2.0) -> None:
        """Wait for the last line after the notifier has ended."""
        if self._thread.is_alive():
            self._thread.join(seconds)

    def _pump(self) -> None:
        with os.fdopen(self._reader, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                self._show(line.rstrip("\n"))
