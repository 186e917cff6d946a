"""What a library says over and over while Kafka is away, said once in a while."""

from __future__ import annotations

import logging

SECONDS = 10.0
MANY = 1000


class Repeats(logging.Filter):
    """Lets a warning through unless the same one was said within `seconds`, and tells how many were left out.

    aiokafka tries again at once when no broker answers, and says 150 lines a second about it; no setting slows that
    down. Two threads may count one repetition as one, which does no harm.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        super().__init__()
        self._seconds = seconds
        self._said: dict[tuple[str, str], tuple[float, int]] = {}  # when, and how often it was left out since

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        key = record.name, record.getMessage()
        said, left_out = self._said.get(key, (float("-inf"), 0))
        if 0 <= record.created - said < self._seconds:  # a clock that was set back silences nothing
            self._said[key] = said, left_out + 1
            return False
        if len(self._said) >= MANY:
            self._said.clear()
        self._said[key] = record.created, 0
        if left_out:
            record.msg = f"{record.msg} (and {left_out} times before)"
        return True


_repeats = Repeats()


def leave_out_repeats(library: str) -> None:
    """Once for each logger of `library` that exists: a filter does not hold for the loggers below its own."""
    for name in list(logging.root.manager.loggerDict):
        if name == library or name.startswith(f"{library}."):
            logging.getLogger(name).addFilter(_repeats)
