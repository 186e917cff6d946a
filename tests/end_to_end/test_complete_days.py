"""A day that is not complete in time stays so whatever is loaded again, on a real broker, with the log's own time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from stack.contents import rows
from stack.services import PARTITIONS, services
from watchline.schemas import (
    CompleteBy,
    Event,
    Freshness,
    KeepFiring,
    PipelineDeclared,
    RunEnded,
    Topics,
    WatermarkAdvanced,
    encode,
)
from watchline.streams.instants import to_micros
from watchline.streams.pulses import encode_pulse

SECOND, DAY = timedelta(seconds=1), timedelta(days=1)
RHYTHM = {"WATCHLINE_PULSE_SECONDS": "60", "WATCHLINE_SETTLE_SECONDS": "0"}  # the pulses are the test's
OLD_PARTITIONS = 20
AT_ONCE = (KeepFiring(check="freshness", seconds=0),)
STORED = "select (select count(*) from runs), (select coalesce(max(regressions), 0) from watermarks)"
READY = "select (select count(*) from pipeline_versions), (select count(*) from watermarks)"
READ_TO = "select min(pulse_at) from ingestion"
INCIDENTS = "select pipeline, status, resolved_at from incidents order by pipeline"
DUE_FACTS = """
select fact ->> 'value' from incidents, jsonb_array_elements(facts) as fact where fact ->> 'name' = 'due'
"""


async def reach(dsn: str, query: str, expected: Callable[[Any], bool]) -> Any:
    """Wait until what the query finds is as expected."""
    found: Any = None
    try:
        async with asyncio.timeout(40):
            while not expected(found := await rows(dsn, query)):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within 40 s: {query}; there is {found}") from None
    return found


async def test_a_backfill_of_old_partitions_makes_nothing_fresh(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    now = datetime.now(UTC)
    due = now.replace(second=0, microsecond=0) + 2 * timedelta(minutes=1)
    today = due.replace(hour=0, minute=0)
    homes = {PipelineDeclared: topics.pipelines, RunEnded: topics.runs, WatermarkAdvanced: topics.watermarks}

    with services(tmp_path, broker.bootstrap_servers, database, topics, RHYTHM) as running:
        running.start("streams")
        running.start("sink")
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:

            async def tell(what: Callable[..., Event], at: datetime = now, **fields: Any) -> None:
                for pipeline in ("complete", "young"):
                    its = {"run_id": uuid4()} if what is RunEnded else {}
                    event = what(event_id=uuid4(), occurred_at=at, pipeline=pipeline, **its, **fields)
                    await producer.send_and_wait(homes[type(event)], encode(event), key=pipeline.encode())

            async def pulse(at: datetime) -> None:
                for partition in range(PARTITIONS):
                    await producer.send(topics.runs, encode_pulse(to_micros(at)), partition=partition)

            by = CompleteBy(cron=f"{due:%M %H} * * *")
            await tell(PipelineDeclared, now - 3 * DAY, freshness=Freshness(max_age_seconds=3600), keep_firing=AT_ONCE)
            complete = PipelineDeclared(
                event_id=uuid4(), occurred_at=now, pipeline="complete",
                freshness=Freshness(complete_by=by), keep_firing=AT_ONCE,
            )  # fmt: skip
            await producer.send_and_wait(topics.pipelines, encode(complete), key=b"complete")
            await tell(WatermarkAdvanced, watermark=(today - DAY).isoformat(), kind="timestamp")
            await reach(database, READY, lambda found: found == [(3, 2)])
            for seconds in range(1, 50):  # the row is there a moment after its record
                await pulse(now + seconds * SECOND)
                if await rows(database, INCIDENTS):
                    break  # the young one is old
                await asyncio.sleep(0.5)
            await pulse(due)
            missing = await reach(database, DUE_FACTS, bool)

            for n in range(OLD_PARTITIONS):
                await tell(RunEnded, status="succeeded", inserts=1_000, backfill=True)
                watermark = (today - (365 - n) * DAY).isoformat()
                await tell(WatermarkAdvanced, watermark=watermark, kind="timestamp")
            await reach(database, STORED, lambda found: found == [(2 * OLD_PARTITIONS, OLD_PARTITIONS)])
            await pulse(due + 40 * SECOND)
            await reach(database, READ_TO, lambda found: found == [(due + 40 * SECOND,)])
            untouched = await rows(database, INCIDENTS)

            await tell(RunEnded, status="succeeded", inserts=1)
            await tell(WatermarkAdvanced, watermark=today.isoformat(), kind="timestamp")
            await reach(database, "select effective from watermarks", lambda found: found == [(today.isoformat(),)] * 2)
            await pulse(due + 80 * SECOND)
            resolved = await reach(database, INCIDENTS, lambda found: {row[1] for row in found} == {"resolved"})

    assert str(missing[0][0]).startswith(f"all of {today - DAY:%Y-%m-%d} by {due:%Y-%m-%d %H:%M}")
    assert untouched == [("complete", "open", None), ("young", "open", None)]
    assert [row[1] for row in resolved] == ["resolved", "resolved"]
    assert resolved[0][2] == due + 80 * SECOND
