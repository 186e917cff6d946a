"""Half a minute of everything at once violates nothing, and its checks see the bugs that are planted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from faults.chaos.outcome import Outcome, Plan
from faults.chaos.play import play
from faults.chaos.schedule import Fault, kinds_for, schedule
from faults.test_mutants import planted

APACHE = os.environ.get("WATCHLINE_TEST_BROKER") == "apache"
MINUTES = 0.6
pytestmark = pytest.mark.faults


def fault(at: float, kind: str, hits: str, seconds: float) -> Fault:
    return Fault(1, at, kind, hits, seconds)


async def run(folder: Path, faults: tuple[Fault, ...], mutant: str = "", minutes: float = MINUTES) -> Outcome:
    return await play(Plan(minutes, 2, faults, APACHE, rate=200, environment=planted(mutant)), folder, print)


async def test_half_a_minute_of_everything_violates_nothing(tmp_path: Path) -> None:
    outcome = await run(tmp_path, schedule(2, MINUTES, kinds_for(apache=APACHE, nodes=1)))

    assert outcome.violations == []
    assert outcome.counts["runs"] > 1000
    assert len(outcome.recoveries) == round(MINUTES * 12)


@pytest.mark.durable("the workers are ended")
@pytest.mark.parametrize(
    ("mutant", "faults", "invariants"),
    [
        ("streams.watermark_goes_back", (), {"I2"}),
        ("streams.commit_before_the_changelog", (fault(2, "changelog blocked", "Kafka link", 5),), {"I3"}),
        ("sink.drop_the_bytes_of_dead_letters", (fault(2, "poison", "load", 4),), {"I9"}),
        ("sink.offsets_off_by_one", (fault(3, "sink killed", "sink 1", 1),), {"I18"}),
        ("sink.commit_before_the_rows", (), {"I18"}),
        ("notifier.mark_before_send", (fault(2, "Slack says 500", "Slack", 6),), {"I6"}),
    ],
)
async def test_a_planted_bug_is_named(
    mutant: str, faults: tuple[Fault, ...], invariants: set[str], tmp_path: Path
) -> None:
    outcome = await run(tmp_path, faults, mutant, minutes=0.25)

    assert invariants <= {violation.invariant for violation in outcome.violations}
