"""All bad events shuffled among good ones: what is made of the good ones is as if they had come alone."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from brokers.kinds import Broker
from faults.invariants.changelogs import Changelog
from faults.invariants.effects import Origin
from faults.invariants.tables import replay_equality
from faults.invariants.violations import assert_none
from stack.cases import Case, read_cases_at
from stack.contents import rows, value
from stack.oracle import Expected, judge, note
from stack.posting import LARGEST, check_letters, expected_letters, origin, post, with_headers
from stack.replay import Replay, history
from stack.services import services
from watchline.cli.demo.replay import topic_of
from watchline.schemas import Event, PipelineDeclared, Topics, WatermarkAdvanced, encode

SEED = 20261130
DEADLINE_SECONDS = 120
OF_GOOD = {
    "runs": "select run_id, status, started_at, ended_at, duration_seconds::float8, total_rows, anomalous, flags "
    "from runs where pipeline = any($1)",
    "anomalies": "select run_id, metric, value::float8, score::float8, baseline_runs from anomalies "
    "where pipeline = any($1)",
    "incidents": "select pipeline, kind, status, opened_at, resolved_at from incidents where pipeline = any($1)",
    "watermarks": "select event_id, flags from watermark_history where pipeline = any($1)",
}


@dataclass(frozen=True)
class Story:
    """Good events in their order; a plain fold says what they come to alone."""

    events: list[Event]

    @property
    def pipelines(self) -> list[str]:
        return sorted({event.pipeline for event in self.events})

    @property
    def sent(self) -> list[Event]:
        """Those that are shuffled; declarations must be known before."""
        return [event for event in self.events if not isinstance(event, PipelineDeclared)]

    def alone(self, *, now: datetime) -> tuple[Expected, dict[bytes, bytes]]:
        """Runs, anomalies and incidents, and the rows of the workers' table."""
        expected, table = Expected(), dict[bytes, bytes]()
        for effects in judge(self.events, now=now, rows=table):
            note(expected, effects)
        return expected, table


@pytest.mark.parametrize("runs", [250, pytest.param(5000, marks=pytest.mark.faults)])
async def test_good_events_come_to_the_same_among_all_the_bad_ones(
    runs: int, tmp_path: Path, broker: Broker, topics: Topics, database: str
) -> None:
    story, now = Story(history(runs)), datetime.now(UTC)
    cases = [with_headers(case) for case in read_cases_at(now)]
    assert not {case.fields.get("pipeline") for case in cases} & {*story.pipelines}
    with services(tmp_path, broker.bootstrap_servers, database, topics) as running:
        parts = [running.start(name) for name in ("streams", "sink")]
        await Replay(broker.bootstrap_servers, topics, database, story.events).declare()
        places = await send(broker, topics, shuffled(story.sent, cases, Random(SEED)))
        letters = expected_letters(cases, places, now=now)
        await arrive(database, story, letters, runs)
        exits = [part.exit_code for part in parts]
        changelog = await Changelog(broker.bootstrap_servers, topics).read()

    assert exits == [None, None]
    await check_letters(broker.bootstrap_servers, topics, database, letters)
    expected, table = story.alone(now=now)
    await check_good(database, story, expected)
    assert_none(replay_equality(table, {key: changelog.rows[key] for key in table}))


def shuffled(good: Sequence[Event], cases: Sequence[Case], dice: Random) -> list[Event | Case]:
    """The good events in their order, and all cases anywhere among them; the steps of a scenario in theirs."""
    bad = list(chain.from_iterable([case] * case.repeat for case in cases))
    dice.shuffle(bad)
    steps = {name: iter([case for case in cases if case.group == name]) for name in {case.group for case in cases}}
    bad_ones = deque(next(steps[case.group]) if case.group else case for case in bad)
    places = sorted(dice.randrange(len(good) + 1) for _ in bad)
    mixed: list[Event | Case] = []
    for at, event in enumerate(good):
        while places and places[0] == at:
            places.pop(0)
            mixed.append(bad_ones.popleft())
        mixed.append(event)
    return [*mixed, *bad_ones]


async def send(broker: Broker, topics: Topics, mixed: Sequence[Event | Case]) -> dict[str, list[Origin]]:
    """Send all in this order; where the cases went."""
    going: list[tuple[Event | Case, asyncio.Future[Any]]] = []
    async with AIOKafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, acks="all", max_request_size=LARGEST
    ) as producer:
        for one in mixed:
            if isinstance(one, Case):
                sending = await post(producer, topics, one)
            else:
                sending = await producer.send(topic_of(one, topics), encode(one), key=one.pipeline.encode())
            going.append((one, sending))
        await asyncio.gather(*[sending for _, sending in going])
    places: dict[str, list[Origin]] = {}
    for one, sending in going:
        if isinstance(one, Case):
            places.setdefault(one.name, []).append(origin(sending.result()))
    return places


async def arrive(dsn: str, story: Story, letters: Collection[Origin], runs: int) -> None:
    """Wait until what must come has come, and then until nothing has changed for a second."""
    marks = sum(isinstance(event, WatermarkAdvanced) for event in story.events)
    query = """select (select count(*) from dead_letters) >= $1
        and (select count(*) from runs where ended_at is not null and pipeline = any($2)) >= $3
        and (select count(*) from watermark_history where pipeline = any($2)) >= $4"""
    changes = "select (select count(*) from anomalies) + (select count(*) from incident_events)"
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await value(dsn, query, len(letters), story.pipelines, runs, marks):
            await asyncio.sleep(0.1)
        before, quiet = None, 0
        while quiet < 10:
            now = await value(dsn, changes)
            before, quiet = now, quiet + 1 if now == before else 0
            await asyncio.sleep(0.1)


async def check_good(dsn: str, story: Story, expected: Expected) -> None:
    """The pipelines of the good events have exactly the rows of the plain fold."""
    found = {name: await rows(dsn, query, story.pipelines) for name, query in OF_GOOD.items()}
    marks = {event.event_id: event.flags for event in story.events if isinstance(event, WatermarkAdvanced)}

    assert all(found.values()), "there is nothing to compare"
    assert sorted(row[:-1] for row in found["runs"]) == sorted(expected.runs.values())
    assert {flag for row in found["runs"] for flag in row[-1]} == set()
    assert sorted(found["anomalies"]) == sorted(expected.anomalies.values())
    assert sorted(found["incidents"], key=str) == sorted(expected.incidents.values(), key=str)
    assert {event: tuple(flags) for event, flags in found["watermarks"]} == marks
