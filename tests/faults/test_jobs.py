"""A job that dies in the SDK, or has it fail there: no harm beyond the death, each event is in the log as itself."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest

from brokers.kinds import Broker
from faults.invariants.tails import Tail
from faults.lives import points
from watchline.schemas import Topics, decode

JOB = Path(__file__).with_name("job.py")
RUNS = 40
NOWHERE = "127.0.0.1:1"
PASSES = {"S1": (1, 2, 81), "S2": (1, 2, 8), "S3": (1, 2, 8), "S4": (1, 2, 8), "S5": (1,)}


@pytest.mark.parametrize("point", points(PASSES, always="S3"))
async def test_a_job_that_was_killed_leaves_a_log_and_an_outbox_that_the_next_one_can_use(
    point: str, tmp_path: Path, broker: Broker, topics: Topics
) -> None:
    environment = settings(broker, topics, tmp_path)
    await run_job("waiting", environment | {"WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": NOWHERE})  # all goes to the outbox
    for number in PASSES[point]:
        code, _ = await run_job("killed", environment | {"WATCHLINE_FAILPOINT": f"{point}:kill:{number}"})
        assert code == -signal.SIGKILL
    code, output = await run_job("after", environment)

    assert (code, output) == (0, "done\n")
    found = await events_of(broker, topics)
    assert (len(found["waiting"]), len(found["after"])) == (2 * RUNS, 2 * RUNS)
    assert list((tmp_path / "outbox").glob("*.jsonl")) == []


@pytest.mark.faults
@pytest.mark.parametrize("point", PASSES)
async def test_a_job_does_not_notice_that_the_sdk_fails(
    point: str, tmp_path: Path, broker: Broker, topics: Topics
) -> None:
    environment = settings(broker, topics, tmp_path)
    for number in PASSES[point]:
        code, output = await run_job("failing", environment | {"WATCHLINE_FAILPOINT": f"{point}:raise:{number}"})
        assert (code, output) == (0, "done\n")
    await run_job("after", environment)

    found = await events_of(broker, topics)
    assert (len(found["failing"]), len(found["after"])) == (2 * RUNS * len(PASSES[point]), 2 * RUNS)


def settings(broker: Broker, topics: Topics, folder: Path) -> dict[str, str]:
    return {
        "WATCHLINE_KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers,
        "WATCHLINE_TOPIC_PREFIX": topics.prefix,
        "WATCHLINE_OUTBOX_DIR": str(folder / "outbox"),
    }


async def run_job(pipeline: str, environment: Mapping[str, str]) -> tuple[int | None, str]:
    """Exit code and standard output of the job."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(JOB), pipeline, str(RUNS),
        env={**os.environ, **environment}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    output, _ = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode, output.decode()


async def events_of(broker: Broker, topics: Topics) -> dict[str, set[UUID]]:
    """The events of runs in the log by pipeline; one that is there twice must be the same event."""
    values: dict[UUID, set[bytes]] = defaultdict(set)
    found: dict[str, set[UUID]] = defaultdict(set)
    async for _, records in Tail(broker.bootstrap_servers, [topics.runs]).read():
        for record in records:
            event = decode(record.value, now=datetime.now(UTC))
            values[event.event_id].add(record.value)
            found[event.pipeline].add(event.event_id)
    assert [identity for identity, each in values.items() if len(each) > 1] == []
    return found
