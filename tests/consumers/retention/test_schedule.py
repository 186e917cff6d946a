"""The daily pass beside a sink."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from aging.passes import DAY, HOUR, NOW, RUNS, Passes
from aging.stories import fresh, run_at
from sinking.tables import waiting_for_locks
from stack.waiting import until
from watchline.consumers import locks
from watchline.consumers.retention.schedule import prune_daily, prune_if_due, pruning
from watchline.consumers.retention.session import begin, is_alone, session
from watchline.consumers.retention.settings import RetentionSettings
from watchline.consumers.sink.ancestry import store_ancestry

SETTINGS = RetentionSettings(prune_hour=3)
OLD = RUNS - 3 * DAY
FREE = "select count(*) = 0 from pg_locks where locktype = 'advisory' and objid = $1::bigint::oid"
SLOW = """
create function wait() returns trigger language plpgsql as $$
begin perform pg_advisory_xact_lock(1); return old; end $$;
create trigger wait before delete on runs for each row execute function wait()
"""
ELSEWHERE = "create schema elsewhere; set search_path = elsewhere, public; set lock_timeout = '1s'"
HELD = """
select count(*) from pg_locks where locktype = 'advisory' and granted
    and database = (select oid from pg_database where datname = current_database())
"""
LEFT = "select count(*) from runs"


async def noted(passes: Passes, at: datetime) -> None:
    """A sink looked for the first time."""
    due = await prune_if_due(passes.dsn, SETTINGS, asyncio.Event(), now=at)
    assert due > at


@asynccontextmanager
async def daily(dsn: str, *, clock: Any, look_seconds: float = 0.05) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(prune_daily(dsn, SETTINGS, stop, clock=clock, look_seconds=look_seconds))
    yield task
    stop.set()
    await asyncio.wait_for(task, 20)


async def test_it_prunes_at_the_hour_of_the_next_day_and_then_once_a_day(passes: Passes) -> None:
    clock = [NOW]
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    async with daily(passes.dsn, clock=lambda: clock[0]):
        await until("the first look", lambda: passes.value("select count(*) > 0 from retention"))
        clock[0] = NOW.replace(hour=2, minute=59) + 2 * DAY
        await passes.sinking.store(run_at(OLD, "older"))
        assert await passes.value(LEFT) == 3

        clock[0] = NOW.replace(hour=3, minute=0) + 2 * DAY
        await until("the first pass", lambda: passes.value("select bool_and(pruned_at is not null) from retention"))
        assert await passes.value(LEFT) == 1
        await passes.sinking.store(run_at(OLD, "again"))
        first = clock[0]
        clock[0] = first + DAY - timedelta(seconds=1)
        assert await prune_if_due(passes.dsn, SETTINGS, asyncio.Event(), now=clock[0]) == first + DAY
        clock[0] = first + DAY
        await until("the second pass", lambda: passes.value("select count(*) = 1 from runs"))


async def test_one_of_several_prunes_and_the_others_go_on(passes: Passes) -> None:
    await noted(passes, NOW - 3 * DAY)
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    async with session(passes.dsn) as other:
        await begin(other)
        assert await is_alone(other)

        with capture_logs() as said:
            due = await prune_if_due(passes.dsn, SETTINGS, asyncio.Event(), now=NOW)

    assert due < NOW
    assert [line["event"] for line in said] == ["prune.skipped"]
    assert await passes.value(LEFT) == 2
    assert await prune_if_due(passes.dsn, SETTINGS, asyncio.Event(), now=NOW) > NOW
    assert await passes.value(LEFT) == 1


async def test_what_goes_wrong_is_logged_and_counted_and_the_next_look_does_better(passes: Passes) -> None:
    await noted(passes, NOW - 3 * DAY)
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    await passes.looking.execute("alter table expected_runs rename to elsewhere")
    with capture_logs() as said:
        async with daily(passes.dsn, clock=lambda: NOW):
            await until("two failures", failures_in(said, 2))
            await passes.looking.execute("alter table elsewhere rename to expected_runs")
            await until("a whole pass", lambda: passes.value("select bool_and(pruned_at is not null) from retention"))

    assert await passes.value(LEFT) == 1
    assert {line["error"] for line in said if line["event"] == "prune.failed"} == {"UndefinedTableError"}


def failures_in(said: Any, number: int) -> Any:
    async def found() -> bool:
        return any(line["event"] == "prune.failed" and line["failures"] >= number for line in said)

    return found


async def test_without_a_database_the_sink_is_not_disturbed() -> None:
    with capture_logs() as said:
        async with daily("postgresql://nobody:canary@127.0.0.1:1/none", clock=lambda: NOW) as task:
            await until("two failures", failures_in(said, 2))
            assert not task.done()

    assert "canary" not in str(said)


async def test_it_ends_with_the_sink_and_undoes_the_batch_in_hand(passes: Passes) -> None:
    """The batch waits within its transaction, after its first deletion, when the sink stops."""
    await noted(passes, NOW - 3 * DAY)
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    await passes.looking.execute(SLOW)
    await passes.looking.execute("select pg_advisory_lock(1)")

    async with pruning(passes.dsn, SETTINGS, asyncio.Event(), clock=lambda: NOW):
        await waiting_for_locks(passes.looking, 1)

    assert await passes.value(LEFT) == 2
    await until("its lock is free", lambda: passes.value(FREE, locks.PRUNE & 0xFFFFFFFF))


async def test_a_rebuild_of_the_tables_does_not_wait_for_it(passes: Passes) -> None:
    async with session(passes.dsn) as pruning_session:
        assert await is_alone(pruning_session)
        await passes.looking.execute(ELSEWHERE)

        async with passes.looking.transaction():
            await store_ancestry(passes.looking, {(UUID(int=2), UUID(int=1))})
            held = await passes.looking.fetchval(HELD)

    assert held == 2


@pytest.mark.parametrize("prune", [True, False])
async def test_it_can_be_switched_off(prune: bool, passes: Passes) -> None:
    await noted(passes, NOW - 3 * DAY)
    await passes.sinking.store(*fresh(NOW), run_at(OLD, "old"))
    ended = "select bool_and(pruned_at is not null) from retention"

    with capture_logs() as said:
        async with pruning(passes.dsn, RetentionSettings(prune=prune), asyncio.Event(), clock=lambda: NOW + HOUR):
            if prune:
                await until("a pass", lambda: passes.value(ended))

    assert await passes.value(LEFT) == (1 if prune else 2)
    assert ("prune.off" in [line["event"] for line in said]) is not prune
