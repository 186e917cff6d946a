"""Rich consoles, and the lines shown while something starts: data on stdout, everything else on stderr."""

from __future__ import annotations

import time

from rich.console import Console
from rich.status import Status

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class StartReport:
    """Says which part starts now and, when it has started, how long that took."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status: Status | None = None
        self._title = ""
        self._since = 0.0

    def announce(self, title: str) -> None:
        """The part before is up; `title` starts now."""
        self._tick()
        self._title, self._since = title, time.monotonic()
        self._status = self._console.status(f"starting {title} …")
        self._status.start()

    def done(self) -> None:
        """The last part is up."""
        self._tick()
        self._title = ""

    def abandon(self) -> None:
        """Starting failed: take the spinner away."""
        if self._status:
            self._status.stop()

    def _tick(self) -> None:
        self.abandon()
        if self._title:
            self._console.print(f"[green]✓[/green] {self._title} [dim]{time.monotonic() - self._since:.1f} s[/dim]")
