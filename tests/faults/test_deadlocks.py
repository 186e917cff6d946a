"""Two sinks that write the same rows wait for each other and do not deadlock, for each takes them in the same order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from faults.lives import QUICK
from faults.test_mutants import planted
from faults.test_zombies import execute, until_some
from stack.contents import rows
from stack.services import services
from watchline.schemas import Dataset, PipelineDeclared, Topics, encode_record
from watchline.schemas.records import PipelineRecord

pytestmark = pytest.mark.faults
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
# Two statements that take their rows slowly are sure to meet.
SLOW_DATASETS = """
create function wait_a_moment() returns trigger language plpgsql as $$
begin perform pg_sleep(0.02); return new; end $$;
create trigger wait_a_moment before insert on datasets for each row execute function wait_a_moment()
"""


@pytest.mark.durable("two members at once, with short sessions")
@pytest.mark.parametrize("mutant", ["", "sink.unsorted_upserts"])
async def test_two_sinks_that_write_the_same_rows_do_not_deadlock(
    mutant: str, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    await execute(database, SLOW_DATASETS)
    with services(tmp_path, broker.bootstrap_servers, database, topics, {**QUICK, **planted(mutant)}) as running:
        sinks = [running.start("sink"), running.start("sink")]
        places = await partitions_of_two_owners(database, topics)
        names = [f"dataset-{n}" for n in range(40)]
        await declare(broker, topics, dict(zip(places, (names, names[::-1]), strict=True)))
        await until_some(database, "select count(*) = 80 from lineage_edges")
        said = "".join(sink.log.read_text() for sink in sinks)

    assert await rows(database, "select count(*) from datasets") == [(41,)]
    assert ("40P01" in said) is bool(mutant)


async def partitions_of_two_owners(dsn: str, topics: Topics) -> list[int]:
    """Two partitions of the state that two sinks have."""
    owners: dict[str, int] = {}
    async with asyncio.timeout(30):
        while len(owners) < 2:
            await asyncio.sleep(0.1)
            owners = dict(await rows(dsn, "select owner, partition from sink_offsets where topic = $1", topics.state))
    return list(owners.values())


async def declare(broker: Broker, topics: Topics, datasets: Mapping[int, Sequence[str]]) -> None:
    """Into each partition one pipeline that reads the datasets and writes one."""
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
        for partition, names in datasets.items():
            pipeline = f"pipeline-{partition}"
            declared = PipelineDeclared(
                event_id=UUID(int=partition + 1), occurred_at=NOON, pipeline=pipeline,
                sources=tuple(Dataset(name=name, type="table") for name in names),
                targets=(Dataset(name="target", type="table"),),
            )  # fmt: skip
            record = PipelineRecord(pipeline=pipeline, revision=1, declaration=declared)
            await producer.send(topics.state, encode_record(record), key=pipeline.encode(), partition=partition)
