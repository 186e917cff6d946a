"""How far a partition has been read is told every half minute, with the pulses that come through it."""

from __future__ import annotations

from copy import copy
from datetime import timedelta

from folds.log import NOON, Log, ended
from watchline.schemas.records import PulseRecord

SECONDS = timedelta(seconds=1)


def test_a_pulse_is_told_every_half_minute_with_the_events_read_since() -> None:
    log = Log()

    for n in range(13):
        log.pulse(NOON + 5 * n * SECONDS)
        log.append(ended(n, NOON))

    assert [(told.at, told.events) for told in log.pulses] == [
        (NOON, 0), (NOON + 30 * SECONDS, 6), (NOON + 60 * SECONDS, 6),
    ]  # fmt: skip


def test_a_batch_that_is_undone_tells_its_pulse_again_with_the_same_count() -> None:
    log = Log()
    log.append(ended("a", NOON), ended("b", NOON))
    clock, pulse, rows = copy(log.desk.clock), log.record(NOON), dict(log.rows)

    log.take([pulse])
    log.rows = rows
    log.desk.reset(clock)
    log.take([pulse])

    first, second = log.pulses
    assert isinstance(first, PulseRecord)
    assert (first.events, first.revision) == (second.events, second.revision) == (2, first.revision)


def test_the_repetition_of_a_pulse_is_not_told() -> None:
    log = Log()

    log.pulse(NOON)
    log.pulse(NOON)

    assert len(log.pulses) == 1
