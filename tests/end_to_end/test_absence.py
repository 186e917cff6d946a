"""What should have happened and did not, decided by pulses on a real broker."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from brokers.kinds import Broker
from stack.contents import rows
from stack.services import services
from watchline.cli.demo.replay import open_producer, send_events
from watchline.schemas import (
    Event,
    Freshness,
    KafkaConnection,
    KeepFiring,
    PipelineDeclared,
    RunEnded,
    RunStarted,
    Timeliness,
    Topics,
)

INCIDENTS = "select kind, status from incidents where pipeline = 'slow' order by kind"
HANGING_JOB = """
import time
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="slow")).run() as run:
    print(run.id, flush=True)
    time.sleep(600)
"""


def event(kind: type[Any], **fields: Any) -> Event:
    made: Event = kind(event_id=uuid4(), occurred_at=datetime.now(UTC), pipeline="slow", **fields)
    return made


async def reach(dsn: str, expected: list[tuple[str, str]]) -> None:
    """Wait until exactly these incidents stand in Postgres."""
    found: list[tuple[Any, ...]] = []
    try:
        async with asyncio.timeout(40):
            while found != expected:
                found = await rows(dsn, INCIDENTS)
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within 40 s: {expected}; there is {found}") from None


async def test_a_run_is_overdue_while_it_runs_and_data_is_stale_until_it_changes(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    kafka, run = KafkaConnection(bootstrap_servers=broker.bootstrap_servers), uuid4()
    limits = {
        "freshness": Freshness(max_age_seconds=5),
        "timeliness": Timeliness(max_duration_seconds=2),
        "keep_firing": (KeepFiring(check="freshness", seconds=0),),
    }

    async def send(*events: Event) -> None:
        async with open_producer(kafka) as producer:
            await send_events(producer, topics, events, lambda _: None)

    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        running.start("streams")
        running.start("sink")
        await send(event(PipelineDeclared, **limits))
        await send(event(RunStarted, run_id=run))

        await reach(database, [("freshness", "open"), ("timeliness", "open")])
        still_running = await rows(database, "select status, overdue from runs where run_id = $1", run)
        await send(event(PipelineDeclared, **limits | {"freshness": Freshness(max_age_seconds=3600)}))
        await send(event(RunEnded, run_id=run, status="succeeded", inserts=1))
        await reach(database, [("freshness", "resolved"), ("timeliness", "resolved")])

    assert still_running == [("running", True)]
    ((lasted,),) = await rows(database, "select max(resolved_at - opened_at) from incidents")
    assert lasted < timedelta(minutes=2)


async def test_a_job_whose_process_was_killed_is_lost_until_its_end_arrives_after_all(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    more = {"WATCHLINE_HEARTBEAT_SECONDS": "0.5", "WATCHLINE_OUTBOX_DIR": str(tmp_path / "outbox")}
    with services(tmp_path, broker.bootstrap_servers, database, topics, more) as running:
        running.start("streams")
        running.start("sink")
        job = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HANGING_JOB, env=running.job_environment, stdout=asyncio.subprocess.PIPE
        )
        assert job.stdout is not None
        run = UUID((await job.stdout.readline()).decode().strip())
        await alive(database, run)
        job.kill()
        await job.wait()

        await reach(database, [("lost", "open")])
        lost = await rows(database, "select status from runs where run_id = $1", run)
        async with open_producer(KafkaConnection(bootstrap_servers=broker.bootstrap_servers)) as producer:
            await send_events(producer, topics, [event(RunEnded, run_id=run, status="succeeded")], lambda _: None)
        await reach(database, [("lost", "resolved")])

    assert lost == [("lost",)]
    repaired = "select status, 'false_lost' = any(flags) from runs where run_id = $1"
    assert await rows(database, repaired, run) == [("succeeded", True)]
    assert await rows(database, "select resolve_reason from incidents") == [("arrived_late",)]


async def alive(dsn: str, run: UUID) -> None:
    """Wait until a heartbeat of the run has been stored."""
    async with asyncio.timeout(40):
        while not await rows(dsn, "select 1 from runs where run_id = $1 and last_heartbeat_at is not null", run):
            await asyncio.sleep(0.1)
