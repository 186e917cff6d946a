"""Hostile, broken and odd records through a real broker, each with a good event behind it on the same partition."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

from aiokafka import AIOKafkaProducer
from aiokafka.structs import RecordMetadata

from brokers.kinds import Broker
from stack.cases import Case, read_cases
from stack.contents import rows, value
from stack.services import services
from watchline.schemas import RunStarted, Topics, encode

Place = tuple[str, int, int]
LARGEST = 2 * 1024 * 1024
DEAD = "select source_topic, source_partition, source_offset, reason, value, key from dead_letters"


async def test_every_bad_event_has_its_outcome_and_the_good_one_behind_it_arrives(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    cases = read_cases()
    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        parts = [running.start("streams"), running.start("sink")]
        places, canaries = await send(broker, topics, cases)
        await arrive(database, canaries)
        exits = [part.exit_code for part in parts]

    assert exits == [None, None]
    await check_dead_letters(database, cases, places)
    await check_runs(database, cases, canaries)
    await check_sequences(database, cases)


async def send(broker: Broker, topics: Topics, cases: Sequence[Case]) -> tuple[dict[str, list[Place]], list[UUID]]:
    """Send each case, then a good event into the same partition; where they went, and the good runs."""
    places: dict[str, list[Place]] = {}
    canaries: list[UUID] = []
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, acks="all", max_request_size=LARGEST
    ) as producer:
        for case in cases:
            for _ in range(case.repeat):
                sent = await send_case(producer, topics, case)
                places.setdefault(case.name, []).append((sent.topic, sent.partition, sent.offset))
            canaries.append(await send_canary(producer, topics, sent.partition))
    return places, canaries


async def send_case(producer: AIOKafkaProducer, topics: Topics, case: Case) -> RecordMetadata:
    if case.key is None and case.value is None:  # only a batch may hold it
        batch = producer.create_batch()
        batch.append(key=None, value=None, timestamp=None)
        batch.close()
        return await (await producer.send_batch(batch, case.topic(topics), partition=0))
    return await producer.send_and_wait(
        case.topic(topics), case.value, key=case.key, headers=list(case.headers), timestamp_ms=timestamp(case)
    )


def timestamp(case: Case) -> int | None:
    """aiokafka refuses a negative time before it is sent, so the smallest stands in for it."""
    return None if case.timestamp_ms is None else max(0, case.timestamp_ms)


async def send_canary(producer: AIOKafkaProducer, topics: Topics, partition: int) -> UUID:
    run = uuid4()
    event = RunStarted(event_id=uuid4(), occurred_at=datetime.now(UTC), pipeline=f"canary-{partition}", run_id=run)
    await producer.send_and_wait(topics.runs, encode(event), key=event.pipeline.encode(), partition=partition)
    return run


async def arrive(dsn: str, canaries: Sequence[UUID]) -> None:
    """Wait until every good event is a row."""
    query = "select count(*) from runs where run_id = any($1::uuid[])"
    async with asyncio.timeout(60):
        while await value(dsn, query, list(canaries)) < len(canaries):
            await asyncio.sleep(0.1)


async def check_dead_letters(dsn: str, cases: Sequence[Case], places: dict[str, list[Place]]) -> None:
    """One dead letter a refused record, with bytes, key, place and reason, and none for any other."""
    found = {(topic, partition, offset): rest for topic, partition, offset, *rest in await rows(dsn, DEAD)}
    for case in cases:
        for place in places[case.name]:
            letter = found.pop(place, None)
            if case.expect == "dlq":
                assert letter == [case.reason, case.value, case.key], case.name
            elif case.expect in ("accept", "normalise"):
                assert letter is None, f"{case.name}: {letter}"
    assert found == {}


async def check_runs(dsn: str, cases: Sequence[Case], canaries: Sequence[UUID]) -> None:
    """Exactly the accepted runs exist, under the pipelines that their payloads name."""
    accepted = [
        case.fields for case in cases
        if case.expect in ("accept", "normalise") and str(case.fields.get("event_type", "")).startswith("run.")
    ]  # fmt: skip
    expected = {(UUID(fields["run_id"].strip("{}")), fields["pipeline"].strip()) for fields in accepted}
    query = "select run_id, pipeline from runs where not run_id = any($1::uuid[])"
    stored = {tuple(row) for row in await rows(dsn, query, list(canaries))}
    optional = {case.fields.get("run_id") for case in cases if "|" in case.expect}

    assert {row for row in stored - expected if str(row[0]) not in optional} == set()
    assert expected - stored == set()
    assert await value(dsn, "select count(*) from pipelines where pipeline = 'some_other_pipeline'") == 0


async def check_sequences(dsn: str, cases: Sequence[Case]) -> None:
    """What the ordered scenarios must end in."""
    run = {case.name: case.fields.get("run_id") for case in cases}
    query = (
        "select status, started_at is not null, duration_seconds::float8, inserts, flags from runs where run_id = $1"
    )

    assert await rows(dsn, query, run["seq-dup-1a"]) == [("succeeded", False, 4.2, 100, [])]
    assert await rows(dsn, query, run["tx-storm"]) == [("succeeded", False, 4.2, 100, [])]
    assert await rows(dsn, query, run["seq-reorder-1a"]) == [("succeeded", True, 4.2, 100, [])]
    assert await rows(dsn, query, run["seq-two-ends-1a"]) == [("failed", False, 4.2, 100, ["conflicting_end"])]
    assert await rows(dsn, query, run["seq-neg-1a"]) == [("succeeded", True, None, 100, ["negative_duration"])]
    exact = await value(dsn, "select inserts from runs where run_id = $1", run["ok-2p53"])
    assert exact == 9_007_199_254_740_993
    mark = (
        "select effective, regressions from watermarks where pipeline = 'orders_daily' and dataset = 'warehouse.orders'"
    )
    ((effective, regressions),) = await rows(dsn, mark)
    assert regressions >= 1
    assert effective == await value(
        dsn, "select max(watermark) from watermark_history where dataset = 'warehouse.orders' and kind = 'timestamp'"
    )
