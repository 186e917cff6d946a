"""What should have happened and did not, decided by pulses on a real broker."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from brokers.kinds import Broker
from stack.contents import rows
from stack.services import services
from watchline.cli.demo.replay import open_producer, send_events
from watchline.schemas import (
    Event,
    Freshness,
    KafkaConnection,
    PipelineDeclared,
    RunEnded,
    RunStarted,
    Timeliness,
    Topics,
)

INCIDENTS = "select kind, status from incidents where pipeline = 'slow' order by kind"


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
