"""The guard round everything that a job calls: what goes wrong in here is logged once and never reaches the job."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V")

log = logging.getLogger("watchline.sdk")
_said: set[str] = set()
PLAIN = (str, int, float)
MOST_WARNINGS = 200  # a job whose names come from its data must not fill its log, nor our memory


def warn_once(topic: str, message: str, *facts: object) -> None:
    """Log a warning the first time in this process that `topic` is at issue, at debug level after that."""
    is_new = topic not in _said and len(_said) < MOST_WARNINGS
    level = logging.WARNING if is_new else logging.DEBUG
    if is_new:
        _said.add(topic)
    say(level, message, *facts)


def say(level: int, message: str, *facts: object) -> None:
    """Log, whatever the job has made of logging.

    A handler of its own that raises, or a stderr that it has closed, must cost the line and not the job.
    """
    with suppress(Exception):
        if log.isEnabledFor(level):
            log.log(level, message, *(fact if type(fact) in PLAIN else Shown(fact) for fact in facts))


class Shown:
    """A fact of a message whose own text may raise: logging would print a traceback into the job's output."""

    def __init__(self, fact: object) -> None:
        self._fact = fact

    def __str__(self) -> str:
        return self._show(str)

    def __repr__(self) -> str:
        return self._show(repr)

    def _show(self, write: Callable[[object], str]) -> str:
        try:
            return write(self._fact)
        except Exception as error:  # noqa: BLE001 - of the job's own object
            return f"<{type(self._fact).__name__} without text: {type(error).__name__}>"


def forget_warnings() -> None:
    """Let every warning be said again; for tests."""
    _said.clear()


@contextmanager
def harmless(doing: str) -> Iterator[None]:
    """Keep our own errors from the job: the telemetry must not take down the work that it watches."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and not the job's
        warn_once(doing, "watchline failed at %s, the job goes on: %s: %s", doing, type(error).__name__, error)


def usable(what: str, clean: Callable[[V], R], value: V) -> R | None:
    """What `clean` makes of a value of the job's, None (said once) when that raises: it must not cost the event."""
    with harmless(f"reading {what}"):
        return clean(value)
    return None


def never_raises(function: Callable[P, R]) -> Callable[P, R | None]:
    """Make a method that a job calls return None where it would raise."""

    @functools.wraps(function)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R | None:
        with harmless(function.__qualname__):
            return function(*args, **kwargs)
        return None

    return guarded
