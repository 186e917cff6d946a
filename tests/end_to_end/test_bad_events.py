"""Hostile, broken and odd records through a real broker, each with a good event behind it on the same partition."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from faults.invariants.effects import Origin
from stack.cases import Case, read_cases_at
from stack.contents import rows, value
from stack.posting import LARGEST, check_letters, expected_letters, origin, outcome_of, post, with_headers
from stack.services import PARTITIONS, services
from watchline.schemas import RunEnded, RunStarted, Topics, WatermarkAdvanced, encode

CANARY_SECONDS = 5.0  # a promise, and no slack: on a busy machine the slowest takes a sixth of it
WARM_SECONDS = 60.0
# What only the event before shows: the streams note it.
NOTED_BY_STREAMS = {"seq-two-ends-2b": "conflicting_end", "seq-neg-2b": "negative_duration"}


async def test_every_bad_event_has_its_outcome_and_the_good_one_behind_it_arrives(
    tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        parts = [running.start(name) for name in ("streams", "sink", "notify")]
        now = datetime.now(UTC)
        cases = [with_headers(case) for case in read_cases_at(now)]
        warm, canaries = await warm_up(broker, topics, database), Canaries(database)
        async with asyncio.TaskGroup() as both:
            both.create_task(canaries.watch(patience=CANARY_SECONDS))
            sending = both.create_task(send(broker, topics, cases, canaries))
        places = sending.result()
        exits = [part.exit_code for part in parts]
        logs = [part.log.read_text() for part in parts]

    assert exits == [None, None, None]
    assert [text for text in logs if "retried" in text or "Traceback" in text] == []
    assert len(canaries.arrived) == len(cases)
    await check_letters(broker.bootstrap_servers, topics, database, expected_letters(cases, places, now=now))
    await check_runs(database, cases, warm.arrived | canaries.arrived, now=now)
    await check_watermarks(database, cases, now=now)
    await check_sequences(database, cases)


@dataclass
class Canaries:
    """Good events; each must be a row within `CANARY_SECONDS` from when Kafka has it."""

    dsn: str
    waiting: dict[UUID, tuple[str, float]] = field(default_factory=dict)  # what was before it, and since when
    arrived: dict[UUID, float] = field(default_factory=dict)  # seconds that it took
    all_sent: bool = False

    async def send(self, producer: AIOKafkaProducer, topics: Topics, partition: int, behind: str) -> None:
        run = uuid4()
        event = RunStarted(event_id=uuid4(), occurred_at=datetime.now(UTC), pipeline=f"canary-{partition}", run_id=run)
        await producer.send_and_wait(topics.runs, encode(event), key=event.pipeline.encode(), partition=partition)
        self.waiting[run] = behind, time.monotonic()

    async def watch(self, *, patience: float) -> None:
        """Return when all that were sent have arrived; fail as soon as one is late."""
        connection = await asyncpg.connect(self.dsn)
        try:
            while self.waiting or not self.all_sent:
                found = await connection.fetch("select run_id from runs where run_id = any($1)", list(self.waiting))
                now = time.monotonic()
                for row in found:
                    self.arrived[row["run_id"]] = now - self.waiting.pop(row["run_id"])[1]
                late = [behind for behind, since in self.waiting.values() if now - since > patience]
                assert not late, f"not within {patience:g} s: the good event behind {late[0]}"
                await asyncio.sleep(0.02)
        finally:
            await connection.close()


async def warm_up(broker: Broker, topics: Topics, dsn: str) -> Canaries:
    """A first event through every partition: it finds cold processes, which the promise is not about."""
    canaries = Canaries(dsn)
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all") as producer:
        for partition in range(PARTITIONS):
            await canaries.send(producer, topics, partition, "nothing")
    canaries.all_sent = True
    await canaries.watch(patience=WARM_SECONDS)
    return canaries


async def send(broker: Broker, topics: Topics, cases: Sequence[Case], canaries: Canaries) -> dict[str, list[Origin]]:
    """Send each case and then a good event into the same partition; where the cases went."""
    places: dict[str, list[Origin]] = {}
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, acks="all", max_request_size=LARGEST
    ) as producer:
        for case in cases:
            sent = await asyncio.gather(*[await post(producer, topics, case) for _ in range(case.repeat)])
            places[case.name] = [origin(one) for one in sent]
            await canaries.send(producer, topics, sent[-1].partition, case.name)
    canaries.all_sent = True
    return places


async def check_runs(dsn: str, cases: Sequence[Case], canaries: dict[UUID, float], *, now: datetime) -> None:
    """Exactly the accepted runs exist, under the pipelines that their payloads name, with what was repaired."""
    expected: dict[tuple[UUID, str], set[str]] = {}
    for case in cases:
        event = outcome_of(case, now=now)
        if isinstance(event, RunStarted | RunEnded):
            flags = expected.setdefault((event.run_id, event.pipeline), set())
            flags |= {*event.flags, *([NOTED_BY_STREAMS[case.name]] if case.name in NOTED_BY_STREAMS else [])}
    query = "select run_id, pipeline, flags from runs where not run_id = any($1::uuid[])"

    stored = {(run, pipeline): set(flags) for run, pipeline, flags in await rows(dsn, query, list(canaries))}

    assert stored == expected
    assert await value(dsn, "select count(*) from pipelines where pipeline = 'some_other_pipeline'") == 0


async def check_watermarks(dsn: str, cases: Sequence[Case], *, now: datetime) -> None:
    """Each accepted watermark is in the history once, with what was noted."""
    events = [event for case in cases if isinstance(event := outcome_of(case, now=now), WatermarkAdvanced)]
    stored = {event: set(flags) for event, flags in await rows(dsn, "select event_id, flags from watermark_history")}

    assert stored == {event.event_id: set(event.flags) for event in events}


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
