"""What people decide, from their terminal through Kafka to Postgres, and what flaps: on a real broker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from brokers.kinds import Broker
from stack.contents import rows
from stack.services import Services, services
from watchline.cli.demo.replay import open_producer, send_events
from watchline.schemas import Event, Freshness, KafkaConnection, KeepFiring, PipelineDeclared, RunEnded, Topics

INCIDENTS = "select kind, status, resolve_reason from reporting.incidents where pipeline = 'jobs' order by opened_at"
DEADLINE_SECONDS = 40


@dataclass(frozen=True, slots=True)
class World:
    """Streams and sink on a broker and a database, a producer, and a terminal."""

    running: Services
    dsn: str
    kafka: KafkaConnection
    topics: Topics

    async def send(self, *events: Event) -> None:
        async with open_producer(self.kafka) as producer:
            await send_events(producer, self.topics, events, lambda _: None)

    async def ended(self, status: str = "succeeded", **fields: Any) -> UUID:
        run_id = uuid4()
        await self.send(made(RunEnded, run_id=run_id, status=status, **fields))
        return run_id

    async def call(self, *arguments: str) -> tuple[int, str]:
        """Run a command line; its exit code, and all that it says."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "watchline.cli", *arguments, env=self.running.job_environment,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        said, _ = await asyncio.wait_for(process.communicate(), 60)
        return process.returncode or 0, said.decode()

    async def reach(self, query: str, expected: list[tuple[Any, ...]], *arguments: Any) -> None:
        """Wait until the query gives exactly these rows."""
        found: list[tuple[Any, ...]] = []
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                while found != expected:
                    found = await rows(self.dsn, query, *arguments)
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"not within {DEADLINE_SECONDS} s: {expected}; there is {found}") from None

    async def newest(self) -> str:
        ((incident_id,),) = await rows(self.dsn, "select incident_id from incidents order by opened_at desc limit 1")
        return str(incident_id)[:8]


def made(kind: type[Any], **fields: Any) -> Event:
    event: Event = kind(**{"event_id": uuid4(), "occurred_at": datetime.now(UTC), "pipeline": "jobs"} | fields)
    return event


@pytest.fixture
async def world(tmp_path: Path, broker: Broker, topics: Topics, database: str) -> AsyncIterator[World]:
    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        running.start("streams")
        running.start("sink")
        yield World(running, database, KafkaConnection(bootstrap_servers=broker.bootstrap_servers), topics)


async def test_an_incident_is_acknowledged_snoozed_and_closed_and_its_pipeline_muted_from_the_terminal(
    world: World,
) -> None:
    await world.ended("failed")
    await world.reach(INCIDENTS, [("failure", "open", None)])
    incident_id = await world.newest()

    acknowledged = await world.call("incidents", "ack", incident_id, "--note", "on it")
    after_ack = await rows(world.dsn, "select status, note, acknowledged_by like '%@%' from reporting.incidents")
    again = await world.call("incidents", "ack", incident_id)
    snoozed = await world.call("incidents", "snooze", incident_id, "--for", "2h")
    closed = await world.call("incidents", "resolve", incident_id)
    muted = await world.call("mute", "jobs", "--for", "1h", "--reason", "migration")
    await world.ended("failed")
    unmuted = await world.call("unmute", "jobs")
    await world.ended("failed")
    await world.reach(INCIDENTS, [("failure", "resolved", "manual"), ("failure", "open", None)])

    assert [code for code, _ in (acknowledged, snoozed, closed, muted, unmuted)] == [0] * 5, (muted, unmuted)
    assert "the streams have obeyed it and the sink has stored it" in acknowledged[1]
    assert after_ack == [("acknowledged", "on it", True)]
    assert again[0] == 1
    assert "it changed nothing" in again[1]
    transitions = (
        "select transition from incident_events e join incidents i using (incident_id) "
        "where i.resolve_reason = 'manual' order by e.transition_no"
    )
    assert [row[0] for row in await rows(world.dsn, transitions)] == ["opened", "acknowledged", "snoozed", "resolved"]
    told = "select transition, state, suppressed_reason from alert_outbox order by alert_id"
    assert await rows(world.dsn, told) == [
        ("opened", "pending", None), ("resolved", "suppressed", "snoozed"), ("opened", "pending", None)
    ]  # fmt: skip


async def test_an_answer_to_a_verdict_closes_its_incident_and_teaches_the_baseline_once(world: World) -> None:
    ago = datetime.now(UTC) - timedelta(hours=2)
    past = [
        made(RunEnded, occurred_at=ago + timedelta(minutes=n), run_id=uuid4(), status="succeeded", duration_ms=1000,
             inserts=1000)
        for n in range(40)
    ]  # fmt: skip
    await world.send(*past)
    run_id = await world.ended(duration_ms=1000, inserts=100_000)
    await world.reach(INCIDENTS, [("anomaly", "open", None)])

    answered = await world.call("feedback", str(run_id)[:13], "--verdict", "new_normal", "--note", "new shop")
    again = await world.call("feedback", str(run_id)[:13], "--verdict", "false_positive")

    said = "select distinct feedback, feedback_by like '%@%' from reporting.anomalies where run_id = $1"
    assert answered[0] == 0, answered[1]
    assert again[0] == 1
    assert "it was answered before" in again[1]
    assert await rows(world.dsn, said, run_id) == [("new_normal", True)]
    assert await rows(world.dsn, INCIDENTS) == [("anomaly", "resolved", "adopted")]


async def test_what_flaps_round_its_limit_is_told_once(world: World) -> None:
    """Scenario 20 with short limits: a job that fails every other time, and data that is stale every other moment."""
    held = (KeepFiring(check="failure", seconds=60), KeepFiring(check="freshness", seconds=60))
    await world.send(made(PipelineDeclared, freshness=Freshness(max_age_seconds=2), keep_firing=held))

    stale = "select count(*) from incident_events where transition = 'updated' and record ->> 'kind' = 'freshness'"
    await world.reach("select count(*) from incidents where kind = 'freshness'", [(1,)])
    for round_no in range(3):
        await world.ended("failed")
        await world.ended("succeeded", inserts=1)
        await world.reach(stale, [(round_no + 1,)])

    told = "select kind, transition from alert_outbox order by kind, alert_id"
    assert await rows(world.dsn, told) == [("failure", "opened"), ("freshness", "opened")]
    flapping = "select record -> 'facts' -> 0 ->> 'name' from incident_events order by revision desc limit 1"
    assert await rows(world.dsn, flapping) == [("flapping",)]
