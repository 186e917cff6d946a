"""A pass as a whole: what it says it would do, stopping, going on, and giving way."""

from __future__ import annotations

import asyncio
from collections import Counter

from aging.mixture import fill
from aging.passes import CUTOFFS, DAY, NOW, RUNS, Passes
from aging.stories import fresh, run_at
from sinking.records import name_id
from watchline.consumers.retention.choosing import delete
from watchline.consumers.retention.plan import TABLES
from watchline.consumers.retention.pruning import Outcome, Pruner, rest
from watchline.consumers.retention.session import begin, session

OLD = RUNS - 3 * DAY
ENDED = "select count(*) from retention where pruned_at = $1 and table_name = $2"


class Stopping(asyncio.Event):
    """Told to stop as soon as something was deleted."""

    def hear(self, table: str, outcome: Outcome) -> None:
        self.set()


async def test_what_was_counted_is_what_goes_and_a_second_pass_finds_nothing(passes: Passes) -> None:
    await fill(passes, seed=1, size=300)
    counted = await passes.count()

    outcome = await passes.prune(batch=20)

    assert outcome.deleted == counted
    assert {table for table, number in counted.items() if number} >= {
        "runs", "run_ancestry", "anomalies", "anomaly_feedback", "incident_events", "alert_outbox", "alert_messages",
        "incidents", "expected_runs", "ingestion_hours", "watermark_history", "commands", "dead_letters",
    }  # fmt: skip
    assert (await passes.count()).total() == (await passes.prune()).deleted.total() == 0


async def test_a_pass_that_is_stopped_again_and_again_comes_to_the_same_end(passes: Passes) -> None:
    await fill(passes, seed=2, size=100)
    counted, gone, ends = await passes.count(), Counter[str](), 0

    async with session(passes.dsn) as connection:
        await begin(connection)
        while not ends:
            stopping = Stopping()
            gone += (await Pruner(connection, passes.plan(), stopping, batch=8, heard=stopping.hear).prune()).deleted
            ends = await passes.value(ENDED, NOW, TABLES[-1])

    assert gone == counted
    assert (await passes.count()).total() == 0


async def test_from_when_on_a_table_is_whole_is_known_before_anything_goes_and_never_goes_back(passes: Passes) -> None:
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    known: list[object] = []

    async with session(passes.dsn) as connection:
        await begin(connection)
        stopping = Stopping()
        await Pruner(connection, passes.plan(["runs"], runs=100), stopping, heard=stopping.hear).prune()
        known += await passes.rows("select kept_from, pruned_at, deleted from retention")
        await Pruner(connection, passes.plan(["runs"]), asyncio.Event()).prune()
        known += await passes.rows("select kept_from, pruned_at, deleted from retention")

    later = passes.plan(runs=100).cutoffs["runs"]
    assert later > CUTOFFS["runs"]
    assert known == [(later, None, None), (later, NOW, 0)]


async def test_what_a_sink_is_writing_is_left_alone_and_goes_the_next_time(passes: Passes) -> None:
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "held"), run_at(OLD, "free"))
    async with passes.looking.transaction():
        await passes.looking.execute("update runs set anomalous = true where run_id = $1", name_id("held"))

        outcome = await passes.prune()

    assert (outcome.deleted, outcome.left) == (Counter(runs=1), set())
    assert (await passes.prune()).deleted == Counter(runs=1)


async def test_a_batch_that_would_wait_gives_way_and_the_other_tables_are_pruned(passes: Passes) -> None:
    await fill(passes, seed=3, size=30)
    counted = await passes.count()
    async with passes.looking.transaction():
        await passes.looking.execute("lock table run_attempts in access exclusive mode")

        outcome = await passes.prune()

    assert outcome.left == {"runs"}
    assert outcome.deleted["runs"] == 0
    assert outcome.deleted["expected_runs"] == counted["expected_runs"] > 0
    assert await passes.rows("select table_name from retention where pruned_at is null") == [("runs",)]
    assert (await passes.prune()).deleted["runs"] == counted["runs"] > 0


async def test_a_batch_in_hand_holds_nobody_up_who_writes_other_runs(passes: Passes) -> None:
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"), run_at(OLD, "young parent"))
    (rule, *_), plan = passes.plan().rules("runs"), passes.plan()
    newest = await passes.value("select max(started_at) from runs")
    async with session(passes.dsn) as connection:
        await begin(connection)
        async with connection.transaction():
            chosen, deleted = await delete(
                connection, rule, plan, [["orders_daily"], [newest], [newest], [newest]], limit=100
            )
            assert (chosen, deleted["runs"]) == (2, 2)

            await asyncio.wait_for(
                passes.sinking.store(
                    run_at(NOW, "child", parent_run_id=name_id("young parent")),
                    run_at(NOW, "try", attempt=1),
                    run_at(NOW, "try", attempt=2, end_event_id=name_id("second")),
                ),
                20,
            )

    assert await passes.value("select count(*) from runs") == 3
    assert await passes.value("select count(*) from run_ancestry") == 1


async def test_a_sink_that_writes_the_same_old_runs_all_the_time_meets_no_deadlock(passes: Passes) -> None:
    """Late records, new attempts, new parents: every row that a pass may hold is wanted at once."""
    await passes.sinking.store(*fresh(NOW))
    ended, stored = asyncio.Event(), 0

    async def write() -> None:
        nonlocal stored
        for turn in range(10**6):
            if ended.is_set():
                return
            names = [f"old {n}" for n in range(40)]
            await passes.sinking.store(
                *(
                    run_at(
                        OLD, name, attempt=turn % 3 + 1, end_event_id=name_id(f"{name} {turn}"),
                        parent_run_id=name_id(f"old {(n * 7 + turn) % 40}") if n else None,
                    )
                    for n, name in enumerate(names)
                )
            )  # fmt: skip
            stored += 1

    writing = asyncio.create_task(write())
    gone = Counter[str]()
    try:
        async with asyncio.timeout(60):
            while gone["runs"] < 60 or stored < 5:
                assert not writing.done(), writing.exception()
                gone += (await passes.prune(["runs"], batch=15)).deleted
    finally:
        ended.set()
        await writing

    assert await passes.value("select deadlocks from pg_stat_database where datname = current_database()") == 0
    assert await passes.value("select count(*) from dead_letters") == 0
    await passes.prune()
    assert await passes.value("select count(*) from runs") == 1
    assert await passes.value("select count(*) from run_attempts") == 0


async def test_a_batch_is_followed_by_a_rest_as_long_as_it_took() -> None:
    assert rest(3.0) == 3.0
    assert 0 < rest(0.0) < 0.1
