"""What facts say in words: times as people read them."""

from __future__ import annotations

from folds.log import Log, ended, started
from folds.schedules import HOUR, MINUTE, pulses, reach, tell, times, utc, watched
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND, to_micros

SEVEN = utc("2026-12-01 07:00")
LIMITED = Declared(
    freshness_limit=3600 * SECOND,
    lag_limit=7200 * SECOND,
    complete_by=times("0 9 * * *", "UTC", 1),
    first_declared_at=to_micros(SEVEN),
)


def notes_of(log: Log) -> set[str]:
    return {fact.note for incident in log.incidents for fact in incident.facts if fact.note}


def test_times_in_notes_are_those_of_a_clock_on_the_wall_and_in_utc() -> None:
    log = watched(LIMITED, SEVEN)
    reach(log, SEVEN - HOUR)

    tell(log, ended("a", SEVEN, inserts=1), started("b", SEVEN, heartbeat_seconds=60))
    pulses(log, SEVEN, SEVEN + 3 * HOUR)

    assert notes_of(log) == {
        "last heard of 2026-12-01 07:00:00 UTC", "last change 2026-12-01 07:00:00 UTC",
        "watermark 2026-12-01 06:00:00 UTC",
    }  # fmt: skip


def test_so_is_the_time_since_which_a_run_is_running_that_will_be_too_late() -> None:
    log = watched(Declared(done_by=times("30 7 * * *")), SEVEN - 2 * HOUR)
    for n in range(30):
        begun = SEVEN - (40 - n) * 24 * HOUR
        tell(log, ended(n, begun + HOUR, started_at=begun, duration_ms=3_600_000))

    tell(log, started("late", SEVEN))
    pulses(log, SEVEN - 2 * HOUR, SEVEN + MINUTE)

    assert "running since 2026-12-01 07:00:00 UTC" in notes_of(log)
