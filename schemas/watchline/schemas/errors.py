"""Every error Watchline raises on purpose, one class per decision of the caller.

WatchlineError
├── BadEvent              the bytes are no event we know: dead-letter them, sending again won't help
├── WatermarkUnavailable  the log can't be read now: the job decides whether to go on without it
├── Misconfigured         a setting, address, topic or schema is wrong: stop and tell the operator
└── Unavailable           a service doesn't answer now: try again later
"""

from __future__ import annotations


class WatchlineError(Exception):
    """The base of all errors raised on purpose; `hint` says what to do about it."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class BadEvent(WatchlineError):
    """The bytes are not an event we know; `reason` is a code of the closed list, `detail` the place in words."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class WatermarkUnavailable(WatchlineError):
    """The watermark log could not be read; nothing is guessed."""


class Misconfigured(WatchlineError):
    """Waiting will not help: a setting, an address, a topic, a schema or a permission is wrong."""


class Unavailable(WatchlineError):
    """A service that we need does not answer now; waiting may help."""
