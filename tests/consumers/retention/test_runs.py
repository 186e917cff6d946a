"""Which runs go, and what goes with them."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

from aging.passes import DAY, NOW, RUNS, TICK, Passes
from aging.stories import PIPELINE, anomaly_of, fresh, incident_until, open_run, opening, run_at
from sinking.records import command, name_id
from watchline.schemas.records import RunRecord

OLD = RUNS - 3 * DAY
# What does not grow older by itself.
PIPELINES = """
select pipeline, last_run_id, last_status, last_started_at, last_success_at, last_change_at, freshness, open_incidents
from reporting.pipelines order by 1
"""
LONG_AGO = RUNS - 500 * DAY


async def left(passes: Passes, *names: str) -> set[str]:
    """Those of the runs that are still there."""
    found = {run_id for (run_id,) in await passes.rows("select run_id from runs")}
    return {name for name in names if name_id(name) in found}


async def test_a_run_goes_when_all_of_it_lies_before_the_day(passes: Passes) -> None:
    ends = {
        "long ago": (LONG_AGO, LONG_AGO),
        "just before": (RUNS - DAY, RUNS - TICK),
        "over midnight": (RUNS - TICK, RUNS),
        "on the day": (RUNS, RUNS + DAY),
        "clock set back": (RUNS, RUNS - TICK),
        "stream": (LONG_AGO, NOW - DAY),  # what has lasted for years is new when it ends
    }
    await passes.sinking.store(*fresh(NOW), *(run_at(at, name, ended_at=end) for name, (at, end) in ends.items()))

    outcome = await passes.prune()

    assert await left(passes, *ends) == {"over midnight", "on the day", "clock set back", "stream"}
    assert outcome.deleted == Counter(runs=2)


async def test_a_run_of_which_only_the_end_was_told_goes_by_that(passes: Passes) -> None:
    ends = {"before": RUNS - TICK, "border": RUNS, "newest": RUNS + DAY}
    told = (run_at(end, name, started_at=None, ended_at=end, inserts=1) for name, end in ends.items())
    await passes.sinking.store(*fresh(NOW), *told)

    await passes.prune()

    assert await left(passes, *ends) == {"border", "newest"}


async def test_an_open_run_stays_and_so_do_its_ancestors(passes: Passes) -> None:
    grand = run_at(LONG_AGO, "grand")
    parent = run_at(OLD, "parent", parent_run_id=grand.run_id)
    child = open_run(OLD, "child", parent_run_id=parent.run_id, pipeline="other")
    await passes.sinking.store(*fresh(NOW, PIPELINE, "other"), grand, parent, child, run_at(OLD, "old"))
    before = await passes.rows("select * from reporting.runs where orphaned")

    await passes.prune()

    assert await left(passes, "grand", "parent", "child", "old") == {"grand", "parent", "child"}
    assert len(before) == 1
    assert await passes.rows("select * from reporting.runs where orphaned") == before


async def test_of_a_pipeline_that_is_gone_the_newest_run_success_and_change_stay(passes: Passes) -> None:
    story = [
        run_at(LONG_AGO, "first", inserts=1),
        run_at(LONG_AGO + DAY, "change", inserts=1),
        run_at(LONG_AGO + 2 * DAY, "backfill", inserts=1, backfill=True),
        run_at(LONG_AGO + 3 * DAY, "success"),
        run_at(LONG_AGO + 4 * DAY, "failure", status="failed"),
        run_at(LONG_AGO + 5 * DAY, "last", status="aborted"),
    ]
    await passes.sinking.store(*story)
    before = await passes.rows(PIPELINES)

    await passes.prune(batch=2)

    assert await left(passes, "first", "change", "backfill", "success", "failure", "last") == {
        "change", "success", "last",
    }  # fmt: skip
    assert await passes.rows(PIPELINES) == before


async def test_of_ends_alone_the_newest_stay_too(passes: Passes) -> None:
    story = [
        run_at(LONG_AGO, "first", started_at=None, inserts=1),
        run_at(LONG_AGO + DAY, "change", started_at=None, inserts=1),
        run_at(LONG_AGO + 2 * DAY, "success", started_at=None),
        run_at(LONG_AGO + 3 * DAY, "failure", started_at=None, status="failed"),
        run_at(LONG_AGO + 4 * DAY, "last", started_at=None, status="failed"),
    ]
    await passes.sinking.store(*story)
    before = await passes.rows(PIPELINES)

    await passes.prune()

    assert await left(passes, "first", "change", "success", "failure", "last") == {"change", "success", "last"}
    assert await passes.rows(PIPELINES) == before


async def test_the_success_that_ended_last_stays_also_when_another_one_started_later(passes: Passes) -> None:
    slow = run_at(OLD, "slow", length=timedelta(hours=5))
    await passes.sinking.store(*(run_at(OLD + timedelta(hours=n), f"{n}") for n in (0, 1)), slow)
    before = await passes.rows("select last_success_at from reporting.pipelines")

    await passes.prune()

    assert await passes.rows("select last_success_at from reporting.pipelines") == before


async def test_what_an_open_incident_speaks_of_stays_with_ancestors_and_anomalies(passes: Passes) -> None:
    parent = run_at(LONG_AGO, "parent")
    runs = {name: run_at(OLD, name) for name in ("now", "before", "over", "other")}
    runs["now"] = run_at(OLD, "now", parent_run_id=parent.run_id)
    odd = opening(OLD, "odd", run_id=runs["before"].run_id)
    again = odd.model_copy(update={"transition": "updated", "transition_no": 2, "run_id": runs["now"].run_id})
    over = incident_until(OLD, "over", run_id=runs["over"].run_id)
    await passes.sinking.store(*fresh(NOW), parent, *runs.values(), *map(anomaly_of, runs.values()))
    await passes.sinking.store(odd, again, *over)

    await passes.prune()

    assert await left(passes, "parent", *runs) == {"parent", "now", "before"}
    kept = {row[0] for row in await passes.rows("select run_id from anomalies")}
    assert kept == {runs["now"].run_id, runs["before"].run_id}

    end = again.model_copy(
        update={"revision": 10**6, "transition": "resolved", "transition_no": 3, "at": NOW, "resolved_at": NOW}
    )
    await passes.sinking.store(end)
    await passes.prune()

    assert await left(passes, "parent", *runs) == set()
    assert await passes.value("select count(*) from anomalies") == 0


async def test_attempts_and_ancestors_go_with_their_run_and_what_ran_later_keeps_its_own(passes: Passes) -> None:
    parent = run_at(OLD, "parent")
    tries = [
        run_at(OLD + n * timedelta(hours=1), "child", attempt=n, end_event_id=name_id(f"end {n}"), status="failed",
            parent_run_id=parent.run_id)
        for n in (1, 2)
    ]  # fmt: skip
    later = run_at(RUNS, "later", parent_run_id=parent.run_id)
    await passes.sinking.store(*fresh(NOW), parent, *tries, later)
    assert await passes.value("select count(*) from run_attempts") == 1

    outcome = await passes.prune()

    assert outcome.deleted == Counter(runs=2, run_attempts=1, run_ancestry=1)
    assert await passes.rows("select descendant, ancestor from run_ancestry") == [(later.run_id, parent.run_id)]


async def test_feedback_goes_by_the_day_on_which_it_was_given(passes: Passes) -> None:
    runs = {name: run_at(OLD, name) for name in ("old", "needed", "late")}
    answers = [
        command("feedback.given", revision=n, at=OLD if name != "late" else RUNS, run_id=run.run_id)
        for n, (name, run) in enumerate(runs.items(), 1)
    ]
    await passes.sinking.store(*fresh(NOW), *runs.values(), *answers, opening(OLD, "odd", run_id=runs["needed"].run_id))

    await passes.prune()

    kept = {run_id for (run_id,) in await passes.rows("select run_id from anomaly_feedback")}
    assert kept == {runs["needed"].run_id, runs["late"].run_id}


async def test_an_anomaly_goes_by_the_end_of_its_run(passes: Passes) -> None:
    ends = {"before": RUNS - TICK, "border": RUNS}
    await passes.sinking.store(*(anomaly_of(run_at(OLD, name, ended_at=end)) for name, end in ends.items()))

    await passes.prune()

    assert await passes.rows("select run_id from anomalies") == [(name_id("border"),)]


async def test_a_late_record_of_a_run_that_is_gone_comes_again_and_goes_again(passes: Passes) -> None:
    """The log may be read again, or a job's outbox be sent years later: nothing is refused, nothing stays."""
    old = run_at(OLD, "old", parent_run_id=name_id("parent"))
    late = old.model_copy(update={"revision": old.revision + 10**6, "backfill": None, "flags": ("late",)})
    await passes.sinking.store(*fresh(NOW), old)
    await passes.prune()

    for record in (old, late):
        await passes.sinking.store(record)
    assert await left(passes, "old") == {"old"}
    await passes.prune()

    assert await left(passes, "old") == set()
    assert await passes.value("select count(*) from run_ancestry") == 0


async def test_more_old_runs_than_a_batch_takes_go_and_the_others_stay(passes: Passes) -> None:
    def of(pipeline: str, days: int) -> RunRecord:
        return run_at(RUNS + days * DAY, f"{pipeline} {days}", pipeline=pipeline, inserts=1)

    story = [of(f"pipeline {n}", days) for n in range(60) for days in (-3, -2, -1, 0, 1)]
    await passes.sinking.store(*story)

    outcome = await passes.prune(batch=7)

    assert outcome.deleted == Counter(runs=180)
    assert await passes.value("select min(started_at) from runs") == RUNS
    assert await passes.value("select count(*) from runs") == 120
