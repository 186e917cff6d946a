"""A library that repeats itself is heard once in a while."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from watchline.streams.transport.repeats import Repeats, leave_out_repeats

CONNECT = "Unable connect to node with id %s: %s"


def said(repeats: Repeats, at: float, *args: object, level: int = logging.ERROR) -> str | None:
    record = logging.LogRecord("aiokafka", level, "client.py", 1, CONNECT, args, None)
    record.created = at
    return record.getMessage() if repeats.filter(record) else None


def test_the_same_error_is_said_once_in_ten_seconds_and_the_others_are_counted() -> None:
    repeats = Repeats(seconds=10)

    heard = [said(repeats, at, 1, "refused") for at in (0.0, 0.1, 9.9, 10.0, 10.1, 25.0)]

    first = "Unable connect to node with id 1: refused"
    assert heard == [first, None, None, f"{first} (and 2 times before)", None, f"{first} (and 1 times before)"]


def test_another_error_is_said_at_once() -> None:
    repeats = Repeats(seconds=10)

    heard = [said(repeats, 0.0, node, reason) for node, reason in ((1, "refused"), (2, "refused"), (1, "reset"))]

    assert None not in heard


def test_what_is_no_warning_is_not_counted() -> None:
    repeats = Repeats(seconds=10)

    assert [said(repeats, 0.0, 1, "x", level=logging.INFO) for _ in range(2)] == 2 * [CONNECT % (1, "x")]


def test_a_clock_that_was_set_back_silences_nothing() -> None:
    repeats = Repeats(seconds=10)

    assert [said(repeats, at, 1, "refused") is not None for at in (3600.0, 0.0, 1.0)] == [True, True, False]


def test_errors_without_number_fill_no_memory() -> None:
    repeats = Repeats(seconds=10)

    for number in range(2500):
        said(repeats, 0.0, number, "refused")

    assert len(repeats._said) <= 1000


@pytest.fixture
def library() -> Iterator[list[logging.Logger]]:
    loggers = [logging.getLogger(name) for name in ("noisy", "noisy.consumer", "noisyother")]
    yield loggers
    for logger in loggers:
        logger.filters.clear()


def test_all_loggers_of_a_library_are_calmed_once_and_no_others(library: list[logging.Logger]) -> None:
    leave_out_repeats("noisy")
    leave_out_repeats("noisy")

    assert [len(logger.filters) for logger in library] == [1, 1, 0]
