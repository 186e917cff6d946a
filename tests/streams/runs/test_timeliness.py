"""Runs past their limit, decided by pulses while they run."""

from __future__ import annotations

from datetime import timedelta

from folds.log import NOON, Log, ended, identity, started
from watchline.schemas import Mute
from watchline.streams.declarations import Declared
from watchline.streams.instants import SECOND
from watchline.streams.runs.desk import Rhythm

LIMITED = Declared(timeliness_limit=600 * SECOND)
MINUTE = timedelta(minutes=1)


def test_a_run_is_overdue_at_the_first_pulse_past_its_limit() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))

    log.pulse(NOON + 9 * MINUTE)
    before = log.transitions("timeliness")
    log.pulse(NOON + 10 * MINUTE)

    assert before == []
    assert log.transitions("timeliness") == ["opened"]
    assert log.incidents[0].subject == str(identity("a"))
    assert log.incidents[0].facts[0].limit == 600
    assert log.newest("a").overdue


def test_the_end_resolves_it_and_the_run_stays_marked() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.append(ended("a", NOON + 12 * MINUTE))

    assert log.transitions("timeliness") == ["opened", "resolved"]
    assert log.newest("a").overdue


def test_no_event_alone_opens_it_while_the_run_goes_on() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))

    log.append(started("b", NOON + 60 * MINUTE), now=NOON + 60 * MINUTE)

    assert log.incidents == []


def test_overlapping_runs_are_watched_apart() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON), started("b", NOON + 5 * MINUTE))

    log.pulse(NOON + 12 * MINUTE)
    log.pulse(NOON + 16 * MINUTE)

    assert [it.subject for it in log.incidents] == [str(identity("a")), str(identity("b"))]


def test_a_run_whose_whole_life_arrives_late_is_opened_and_resolved_at_its_end() -> None:
    log = Log(LIMITED)

    log.append(started("a", NOON), ended("a", NOON + 20 * MINUTE))

    assert log.transitions("timeliness") == ["opened", "resolved"]
    assert [it.transition_no for it in log.incidents] == [1, 2]


def test_a_run_within_its_limit_opens_nothing() -> None:
    log = Log(LIMITED)

    log.append(started("a", NOON), ended("a", NOON + 9 * MINUTE))
    log.pulse(NOON + 30 * MINUTE)

    assert log.incidents == []


def test_a_mute_hides_the_incident_and_keeps_the_mark() -> None:
    log = Log(Declared(timeliness_limit=600 * SECOND, mutes=(Mute(check="timeliness"),)))
    log.append(started("a", NOON))

    log.pulse(NOON + 11 * MINUTE)

    assert log.incidents == []
    assert log.newest("a").overdue


def test_a_new_limit_counts_for_runs_that_are_open_already() -> None:
    log = Log()
    log.append(started("a", NOON))
    log.pulse(NOON + 5 * MINUTE)

    log.declared = LIMITED
    log.desk.wake(b"orders_daily")
    log.pulse(NOON + 11 * MINUTE)

    assert log.transitions("timeliness") == ["opened"]


def test_deadlines_are_rebuilt_from_the_rows_by_another_worker() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    other = Log(LIMITED, rows=log.rows, offset=log.offset)

    other.pulse(NOON + 11 * MINUTE)

    assert other.transitions("timeliness") == ["opened"]


def test_after_a_gap_of_pulses_absence_waits_for_the_settle_time() -> None:
    log = Log(LIMITED, Rhythm(pulse=5, settle=30, epoch=0))
    log.append(started("a", NOON))

    log.pulse(NOON + 20 * MINUTE)
    withheld = log.transitions("timeliness")
    for n in range(1, 7):
        log.pulse(NOON + 20 * MINUTE + n * timedelta(seconds=5))

    assert withheld == []
    assert log.transitions("timeliness") == ["opened"]


def test_a_doubled_or_older_pulse_decides_nothing() -> None:
    log = Log(LIMITED)
    log.pulse(NOON + 30 * MINUTE)
    log.append(started("a", NOON))

    log.pulse(NOON + 30 * MINUTE)
    log.pulse(NOON + 28 * MINUTE)

    assert log.incidents == []


def test_switching_a_pipeline_off_resolves_what_is_open_as_paused() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.declared = Declared(active=False)
    log.desk.wake(b"orders_daily")
    log.pulse(NOON + 12 * MINUTE)

    assert log.incidents[-1].resolve_reason == "paused"
    assert log.row.incidents == []


def test_without_a_limit_the_pipelines_own_runs_teach_one() -> None:
    log = Log()
    log.history(40)  # a minute each
    log.append(started("a", NOON))

    log.pulse(NOON + 2 * MINUTE - timedelta(seconds=1))
    before = log.transitions("timeliness")
    log.pulse(NOON + 2 * MINUTE + timedelta(seconds=1))

    assert before == []
    assert log.transitions("timeliness") == ["opened"]
    assert log.incidents[0].title == "run takes longer than 99 of 100 runs before it"


def test_fewer_than_thirty_runs_teach_no_limit() -> None:
    log = Log()
    log.history(29)
    log.append(started("a", NOON))

    log.pulse(NOON + timedelta(hours=23))

    assert log.transitions("timeliness") == []


def test_a_declared_limit_goes_before_the_learned_one() -> None:
    log = Log(LIMITED)
    log.history(40)
    log.append(started("a", NOON))

    log.pulse(NOON + 9 * MINUTE)

    assert log.transitions("timeliness") == []


def test_a_pipeline_of_wild_durations_is_given_more_time_than_a_steady_one() -> None:
    log = Log(rhythm=Rhythm(pulse=600, settle=0, epoch=0))
    for n in range(40):
        log.append(ended(f"past-{n}", NOON - timedelta(hours=40 - n), duration_ms=60_000 * (1 + n % 5)))
    log.append(started("a", NOON))

    log.pulse(NOON + 5 * MINUTE)
    before = log.transitions("timeliness")
    log.pulse(NOON + 30 * MINUTE)

    assert before == []
    assert log.transitions("timeliness") == ["opened"]


def test_a_run_without_any_limit_is_overdue_after_a_day() -> None:
    log = Log()
    log.append(started("a", NOON))

    log.pulse(NOON + timedelta(hours=24) - MINUTE)
    before = log.transitions("timeliness")
    log.pulse(NOON + timedelta(hours=24))

    assert before == []
    assert log.incidents[0].title == "run has been open for a day"


def test_a_declaration_that_gives_more_time_resolves_the_incident_until_that_has_passed_too() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.declared = Declared(timeliness_limit=1800 * SECOND)
    log.desk.wake(b"orders_daily")
    log.pulse(NOON + 12 * MINUTE)
    pardoned = log.transitions("timeliness")
    log.pulse(NOON + 31 * MINUTE)

    assert pardoned == ["opened", "resolved"]
    assert log.transitions("timeliness") == ["opened", "resolved", "opened"]


def test_a_run_of_long_ago_that_is_read_anew_is_not_overdue_for_a_day() -> None:
    log = Log()
    log.history(40, until=NOON - timedelta(days=400))
    log.pulse(NOON)
    log.append(started("a", NOON - timedelta(days=400)))

    log.pulse(NOON + timedelta(seconds=5))
    log.append(ended("a", NOON - timedelta(days=400) + MINUTE))

    assert log.transitions("timeliness") == []


def test_a_limit_that_passed_in_a_gap_of_pulses_begins_anew() -> None:
    log = Log()
    log.history(40)
    log.pulse(NOON - MINUTE)
    log.append(started("a", NOON))

    log.pulse(NOON + 30 * MINUTE)
    before = log.transitions("timeliness")
    for second in range(5, 130, 5):
        log.pulse(NOON + 30 * MINUTE + timedelta(seconds=second))

    assert before == []
    assert log.transitions("timeliness") == ["opened"]


def test_a_run_that_still_hangs_when_a_mute_ends_is_told_then() -> None:
    until = NOON + 30 * MINUTE
    log = Log(Declared(timeliness_limit=600 * SECOND, mutes=(Mute(check="timeliness", until=until),)))
    log.append(started("a", NOON))

    for minutes in (11, 29):
        log.pulse(NOON + minutes * MINUTE)
    before = log.transitions("timeliness")
    for minutes in (30, 31, 60):
        log.pulse(NOON + minutes * MINUTE)

    assert before == []
    assert log.transitions("timeliness") == ["opened"]


def test_a_run_that_hangs_on_after_a_pause_is_told_again_once() -> None:
    log = Log(LIMITED)
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    for minute, declared in ((12, Declared(active=False)), (13, LIMITED), (14, LIMITED)):
        log.declared = declared
        log.desk.wake(b"orders_daily")
        log.pulse(NOON + minute * MINUTE)

    assert log.transitions("timeliness") == ["opened", "resolved", "opened"]


def test_a_run_that_ended_within_the_mute_is_not_told_after_it() -> None:
    until = NOON + 30 * MINUTE
    log = Log(Declared(timeliness_limit=600 * SECOND, mutes=(Mute(check="timeliness", until=until),)))
    log.append(started("a", NOON))
    log.pulse(NOON + 11 * MINUTE)

    log.append(ended("a", NOON + 12 * MINUTE), now=NOON + 12 * MINUTE)
    log.pulse(NOON + 31 * MINUTE)

    assert log.incidents == []
