"""A producer that writes almost nothing but rubbish: a worker stops instead of putting all of it aside."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from brokers.kinds import Broker
from stack.contents import rows
from stack.services import services
from stack.waiting import until
from watchline.cli.lag import committed_offsets
from watchline.cli.local.child import Child
from watchline.schemas import KafkaConnection, RunStarted, Topics, encode

BATCH, FLOOD, TOLERATED = 100, 2000, 500
KEY = b"orders_daily"


@pytest.mark.faults
@pytest.mark.parametrize("starts", [1, 3])
async def test_a_worker_stops_when_most_records_are_bad_loses_nothing_and_goes_on_when_told_to(
    starts: int, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    kafka = KafkaConnection(bootstrap_servers=broker.bootstrap_servers)
    before, behind = uuid4(), uuid4()
    more = {"WATCHLINE_BATCH_SIZE": str(BATCH)}
    with services(tmp_path, broker.bootstrap_servers, database, topics, more) as running:
        sink, worker = running.start("sink"), running.start("streams")
        await send(kafka, topics, [good(before)])
        await until("the good run before is stored", lambda: stored(database, before))
        bad = await send(kafka, topics, [b'{"event_type": '] * FLOOD)
        await send(kafka, topics, [good(behind)])
        place = TopicPartition(topics.runs, bad[0].partition)
        seen = [0]
        while len(seen) <= starts:
            await ended(worker)
            seen.append(await check_what_is_acknowledged(kafka, topics, database, place, [one.offset for one in bad]))
            assert_told(worker, topics)
            if len(seen) <= starts:
                worker = running.launch("streams")
        assert await stored(database, behind) == []

        running.launch("streams", WATCHLINE_BREAKER_SHARE="1")
        await until("the good run behind the flood is stored", lambda: stored(database, behind))
        wanted = [one.offset for one in bad]

        async def all_are_letters() -> bool:  # they come by another topic than the run behind them
            return await letters_of(database) == wanted

        await until("all bad records are dead letters, and no others", all_are_letters)
        exits = sink.exit_code

    assert all(TOLERATED < after - before <= TOLERATED + BATCH for before, after in pairwise(seen))
    assert exits is None


async def check_what_is_acknowledged(
    kafka: KafkaConnection, topics: Topics, dsn: str, place: TopicPartition, bad: list[int]
) -> int:
    """What the worker acknowledged is put aside, nothing else is; how many records that are."""
    reached = (await committed_offsets(kafka, topics.application, [place])).get(place, 0)
    done = [offset for offset in bad if offset < reached]

    async def all_are_there() -> bool:
        return await letters_of(dsn) == done

    await until(f"the {len(done)} acknowledged records are dead letters, and no others", all_are_there)
    return len(done)


def assert_told(worker: Child, topics: Topics) -> None:
    log = worker.log.read_text()
    assert worker.exit_code == 1, log[-3000:]
    *_, error, hint = log.splitlines()
    assert error == f"error: 501 of the last 1,000 records of {topics.runs} are bad: invalid_json 501"
    assert hint.startswith("hint: ")
    assert '"event": "intake.stopped"' in log


def good(run: UUID) -> bytes:
    return encode(RunStarted(event_id=uuid4(), occurred_at=datetime.now(UTC), pipeline="orders_daily", run_id=run))


async def send(kafka: KafkaConnection, topics: Topics, values: list[bytes]) -> list[Any]:
    async with AIOKafkaProducer(acks="all", **kafka.client_arguments()) as producer:
        return await asyncio.gather(*[await producer.send(topics.runs, value, key=KEY) for value in values])


async def ended(child: Child) -> None:
    async def has_ended() -> bool:
        return child.exit_code is not None

    await until(f"{child.name} has ended", has_ended)


async def stored(dsn: str, run: UUID) -> list[tuple[Any, ...]]:
    return await rows(dsn, "select 1 from runs where run_id = $1", run)


async def letters_of(dsn: str) -> list[int]:
    return [offset for (offset,) in await rows(dsn, "select source_offset from dead_letters order by 1")]
