"""Scenario 20: in, out, in, out each minute. At most one firing, and the message says that it flaps."""

from __future__ import annotations

from datetime import timedelta

import pytest

from folds.log import NOON, Log, ended
from watchline.consumers.notifier.alert import Alert, Message
from watchline.consumers.notifier.stories import tell
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros

MINUTE = timedelta(minutes=1)
ROUNDS = 30


def facts_of(log: Log) -> tuple[str, ...]:
    """The lines of the message about the incident as it stands."""
    newest = log.incidents[-1]
    (story,) = tell(Message((Alert(1, newest, newest.at),)))
    return story.facts


def test_a_metric_that_moves_in_and_out_of_its_range_fires_once() -> None:
    log = Log()
    log.history(60, inserts=1000)

    for n in range(ROUNDS):
        log.append(ended(n, NOON + n * MINUTE, duration_ms=60_000, inserts=1000 if n % 2 else 1), now=NOON + n * MINUTE)

    assert log.transitions("anomaly").count("opened") == 1
    assert log.transitions("anomaly").count("resolved") == 0
    assert facts_of(log)[0].startswith("flapping ")


def test_an_age_that_moves_round_its_limit_fires_once() -> None:
    """Data changes every 61 s under a limit of 60 s."""
    log = Log(
        Declared(
            freshness_limit=60 * SECOND, first_declared_at=to_micros(NOON), keep_firing=(("freshness", 300 * SECOND),)
        )
    )
    for second in range(1, 61 * ROUNDS):
        at = NOON + timedelta(seconds=second)
        if second % 61 == 0:
            log.append(ended(second, at, inserts=1), now=at)
        log.pulse(at)

    assert log.transitions("freshness").count("opened") == 1
    assert log.transitions("freshness").count("resolved") == 0
    assert facts_of(log)[0] == f"flapping {ROUNDS - 1}; times it was gone and came back"


@pytest.mark.parametrize(("kept", "firings"), [(0, ROUNDS // 2), (300, 1)])
def test_a_job_that_fails_every_other_minute_fires_once_when_asked_to(kept: int, firings: int) -> None:
    log = Log(Declared(keep_firing=(("failure", kept * SECOND),)))

    for n in range(ROUNDS):
        at = NOON + n * MINUTE
        log.append(ended(n, at, "succeeded" if n % 2 else "failed"), now=at)
        log.pulse(at)

    assert log.transitions("failure").count("opened") == firings
