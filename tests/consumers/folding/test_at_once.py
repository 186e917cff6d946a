"""Folds beside batches, other folds and crashes: no reader ever sees a day that is not exact, and no batch waits."""

from __future__ import annotations

import asyncio
import random

import asyncpg
import pytest

from sinking.records import after, ended, sent, slot, started
from sinking.tables import PLACE, Sinking, batch_of, waiting_for_locks
from sinking.truth import all_differences, differences, fold_all
from watchline.consumers.sink.incoming import read
from watchline.consumers.sink.offsets import Advance
from watchline.consumers.sink.writer import Batch, Writer
from watchline.schemas.records import SinkRecord

MARKS = "select count(*) from stale_days"
FOLD = "select fold_days(100)"
NEW_RUN = """
insert into runs (run_id, pipeline, status, started_at, revision)
values (gen_random_uuid(), 'orders_daily', 'running', '2026-11-30 12:00Z', 1)
"""


async def other(sinking: Sinking) -> asyncpg.Connection:
    return await asyncpg.connect(sinking.dsn)


async def test_what_a_batch_in_flight_did_not_mark_again_is_not_lost_to_a_fold(sinking: Sinking) -> None:
    """The batch relies on a mark that a fold is about to take away."""
    await sinking.store(started("a"))
    batch, folder = await other(sinking), await other(sinking)
    transaction = batch.transaction()
    await transaction.start()
    await batch.execute(NEW_RUN)
    assert await batch.fetchval(MARKS) == 1, "it was marked already"

    folding = asyncio.create_task(folder.fetchval(FOLD))
    await waiting_for_locks(sinking.connection, 1)
    await transaction.commit()

    assert await folding == 1
    assert await sinking.connection.fetchval("select runs from pipeline_days") == 2
    assert await all_differences(sinking.connection) == {}
    await batch.close()
    await folder.close()


async def test_a_batch_does_not_wait_for_a_fold_and_marks_whatever_it_touches(sinking: Sinking) -> None:
    await sinking.store(started("a"))
    folder = await other(sinking)
    transaction = folder.transaction()
    await transaction.start()
    assert await folder.fetchval(FOLD) == 1

    async with asyncio.timeout(10):
        await sinking.store(started("b", revision=2))

    assert await sinking.connection.fetchval(MARKS) == 2, "that of a, which the fold is taking away, and one of its own"
    await transaction.commit()
    assert await sinking.connection.fetchval(MARKS) == 1
    assert await all_differences(sinking.connection) == {}
    assert await fold_all(sinking.connection) == 1
    assert await all_differences(sinking.connection) == {}
    await folder.close()


async def test_a_batch_that_sees_an_old_state_marks_whatever_it_touches(sinking: Sinking) -> None:
    """Its snapshot may hold a mark that a fold has taken away since."""
    await sinking.store(started("a"))
    batch = await other(sinking)
    transaction = batch.transaction(isolation="repeatable_read")
    await transaction.start()
    await batch.fetchval(MARKS)
    await fold_all(sinking.connection)

    await batch.execute(NEW_RUN)
    await transaction.commit()

    assert await sinking.connection.fetchval(MARKS) == 1
    assert await all_differences(sinking.connection) == {}
    await batch.close()


async def test_a_fold_that_would_see_an_old_state_is_refused(sinking: Sinking) -> None:
    async with sinking.connection.transaction(isolation="repeatable_read"):
        with pytest.raises(asyncpg.RaiseError, match="read committed"):
            await sinking.connection.fetchval(FOLD)


async def test_two_folds_follow_one_another(sinking: Sinking) -> None:
    await sinking.store(*(started(f"{n}", revision=n + 1, started_at=after(days=n)) for n in range(30)))
    first, second = await other(sinking), await other(sinking)
    transaction = first.transaction()
    await transaction.start()
    assert await first.fetchval("select fold_days(10)") == 10

    folding = asyncio.create_task(second.fetchval("select fold_days(10)"))
    await waiting_for_locks(sinking.connection, 1)
    await transaction.commit()

    assert await folding == 10, "and not those that the other one has done"
    assert await sinking.connection.fetchval(MARKS) == 10
    assert await all_differences(sinking.connection) == {}
    await first.close()
    await second.close()


async def test_a_fold_that_was_cut_off_has_done_nothing(sinking: Sinking) -> None:
    await sinking.store(started("a"), slot(state="met"))
    folder = await other(sinking)
    await folder.execute("begin")
    assert await folder.fetchval(FOLD) == 1

    folder.terminate()

    async with asyncio.timeout(10):  # the server finds out by and by, and the next fold waits for it
        assert await fold_all(sinking.connection) == 1
    assert await all_differences(sinking.connection) == {}


async def test_a_batch_that_was_cut_off_marks_nothing(sinking: Sinking) -> None:
    batch = await other(sinking)
    await batch.execute("begin")
    await batch.execute(NEW_RUN)

    await batch.execute("rollback")

    assert await sinking.connection.fetchval(MARKS) == 0
    await batch.close()


async def test_what_a_sink_stored_before_it_died_the_next_one_folds(sinking: Sinking) -> None:
    await sinking.store(started("a"), ended("b", revision=2))
    await sinking.writer.reset()
    next_one = Sinking(sinking.dsn, sinking.connection)
    await next_one.join()

    assert await next_one.writer.fold(100) == 1

    assert await sinking.connection.fetchval("select runs from pipeline_days") == 2
    assert await all_differences(sinking.connection) == {}
    await next_one.writer.close()


async def test_a_batch_of_which_a_record_is_refused_marks_what_is_left_of_it(sinking: Sinking) -> None:
    await sinking.connection.execute("alter table runs add constraint odd check (total_rows <> 13)")

    refused = await sinking.store(ended("a"), ended("b", revision=3, total_rows=13, started_at=after(days=5)))

    assert refused == 1
    assert [row["day"].day for row in await sinking.connection.fetch("select day from stale_days")] == [30]
    assert await all_differences(sinking.connection) == {}


async def test_every_snapshot_is_exact_while_two_sinks_store_and_fold(sinking: Sinking) -> None:
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        writers = [tasks.create_task(store_and_fold(sinking, partition)) for partition in (1, 2)]
        tasks.create_task(keep_folding(sinking, stop))
        looks = 0
        while not all(one.done() for one in writers) or looks < 5:
            for view in ("daily", "week_over_week", "sla"):
                assert await differences(sinking.connection, view) == []
            looks += 1
        stop.set()

    await fold_all(sinking.connection)
    assert await all_differences(sinking.connection) == {}
    assert await sinking.connection.fetchval(MARKS) == 0
    assert await sinking.connection.fetchval(
        "select sum(runs) from pipeline_days"
    ) == await sinking.connection.fetchval("select count(*) from runs")


async def store_and_fold(sinking: Sinking, partition: int, batches: int = 40) -> None:
    """Starts, ends and moves of one pipeline's runs, some of them in days that the other sink writes as well."""
    chance = random.Random(partition)
    writer = Writer(sinking.dsn, log_epoch=0, alert_max_age=after(days=1) - after(), command_timeout=30)
    place = (PLACE[0], partition)
    fence = (await writer.claim([place], owner=f"sink {partition}"))[place].fence
    for number in range(batches):
        records: list[SinkRecord] = []
        for step in range(20):
            revision = (number * 20 + step) * 2 + 1
            name, at = f"{partition} {chance.randint(1, 60)}", after(days=chance.randint(0, 8))
            fields = {"pipeline": f"pipeline {partition if chance.random() < 0.8 else 3}", "started_at": at}
            records.append(started(name, revision=revision, **fields))
            if chance.random() < 0.6:
                records.append(ended(name, revision=revision + 1, **fields))
        items = [read(one, now=after(hours=1), log_epoch=0) for one in sent(*records, first=number * 100)]
        await writer.store(Batch(items, [Advance(*place, number + 1, fence)], read_at=after(hours=1)))
        if chance.random() < 0.4:
            await writer.fold(5)
    await writer.close()


async def keep_folding(sinking: Sinking, stop: asyncio.Event) -> None:
    connection = await other(sinking)
    while not stop.is_set():
        await connection.fetchval("select fold_days(3)")
    await connection.close()


async def test_a_batch_read_again_changes_no_count(sinking: Sinking) -> None:
    batch = sent(ended("a"), slot(state="late"))
    await sinking.store_sent(batch)
    await fold_all(sinking.connection)
    before = await sinking.connection.fetch("select * from pipeline_days")

    await sinking.writer.store(batch_of(batch, fence=sinking.fence, now=after(hours=2)))
    await fold_all(sinking.connection)

    assert await sinking.connection.fetch("select * from pipeline_days") == before
