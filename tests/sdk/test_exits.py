"""What is left for the end: most jobs are so short that Kafka is connected when Python is on its way out already."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from brokers.kinds import Broker
from harm.records import events_in_log, events_in_outbox
from security.refusing_kafka import refusing_kafka
from watchline.schemas import Topics
from watchline.sdk.life import Loop
from watchline.sdk.process import THREADS_START_AT_EXIT

RunJob = Callable[..., "subprocess.CompletedProcess[str]"]

# Kafka's client is loaded only after the main thread has ended, so that no machine is too fast for this to be seen.
LATE = """
import sys, threading
class Late:
    def find_spec(self, name, path=None, target=None):
        if name == "aiokafka":
            threading.main_thread().join()
sys.meta_path.insert(0, Late())
"""
JOB = """
import logging
logging.basicConfig(level=logging.INFO)
from watchline.sdk import Pipeline, Watchline
with Watchline().pipeline(Pipeline(name="orders")).run() as run:
    run.add(inserts=1)
"""
HEAD = """
import atexit, logging, threading
logging.basicConfig(level=logging.INFO)
from watchline.sdk import Pipeline, Watchline
orders = Watchline().pipeline(Pipeline(name="orders"))
def work():
    with orders.run():
        pass
"""
# The first event of all comes from there, after the main thread has ended.
LAST = {
    "a thread": HEAD + "threading.Thread(target=lambda: (threading.main_thread().join(), work())).start()",
    "a handler": HEAD + "atexit.register(work)",
}
POOL = "import concurrent.futures.thread\n"
EVENTS = ["run.started", "run.ended"]
PATIENT = {"flush_seconds": "30"}  # the promise is 2 s; the rest is the machine's
LOGIN = {"kafka_security_protocol": "SASL_PLAINTEXT", "kafka_sasl_username": "me", "kafka_sasl_password": "secret"}


@pytest.mark.parametrize("before", ["", LATE], ids=["at once", "late"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_job_of_no_length_delivers_in_its_own_run(
    run_job: RunJob, broker: Broker, topics: Topics, before: str, host: str
) -> None:
    address = f"{host}:{broker.bootstrap_servers.rpartition(':')[2]}"
    variables = {"kafka_bootstrap_servers": address, "topic_prefix": topics.prefix, **PATIENT}

    done = await asyncio.to_thread(lambda: run_job(before + JOB, **variables))

    assert "emitted 3 = acknowledged 3" in done.stderr
    assert await types_of(broker, topics) == EVENTS


@pytest.mark.parametrize("job", LAST.values(), ids=LAST)
async def test_a_first_event_after_the_main_thread_is_delivered_where_python_starts_a_thread_and_else_on_disk(
    run_job: RunJob, broker: Broker, topics: Topics, outbox_dir: Path, job: str
) -> None:
    variables = {"kafka_bootstrap_servers": broker.bootstrap_servers, "topic_prefix": topics.prefix, **PATIENT}

    done = await asyncio.to_thread(lambda: run_job(job, **variables))

    delivered = await types_of(broker, topics)
    waiting = [event["event_type"] for event in events_in_outbox(outbox_dir) if "run_id" in event]
    assert (delivered, waiting) == ((EVENTS, []) if THREADS_START_AT_EXIT else ([], EVENTS))
    assert "emitted 3 =" in done.stderr


def test_a_job_that_loads_us_at_its_exit_only_finds_its_events_on_disk(run_job: RunJob, outbox_dir: Path) -> None:
    job = f"import atexit, threading\natexit.register(exec, {HEAD + 'work()'!r}, {{}})"

    done = run_job(job)

    assert (done.returncode, done.stderr) == (0, "")
    assert [event["event_type"] for event in events_in_outbox(outbox_dir)] == ["pipeline.declared", *EVENTS]


@pytest.mark.parametrize("before", [LATE, LATE + POOL], ids=["without a pool", "with one"])
async def test_a_job_of_no_length_logs_in_while_python_is_on_its_way_out(run_job: RunJob, before: str) -> None:
    async with refusing_kafka() as kafka:
        done = await asyncio.to_thread(lambda: run_job(before + JOB, kafka_bootstrap_servers=kafka.address, **LOGIN))

    assert kafka.logins
    assert set(kafka.logins) == {b"me\0me\0secret"}
    assert "RuntimeError" not in done.stderr


async def types_of(broker: Broker, topics: Topics) -> list[str]:
    """What the log holds of runs, in order."""
    return [event["event_type"] for event in await events_in_log(broker.bootstrap_servers, (topics.runs,))]


def test_the_loop_calls_in_its_own_thread_and_hands_on_what_it_raises() -> None:
    loop = Loop()
    try:
        assert loop.run_until_complete(loop.run_in_executor(None, json.loads, "[1]")) == [1]
        with pytest.raises(ValueError, match="Expecting"):
            loop.run_until_complete(loop.run_in_executor(None, json.loads, "["))
    finally:
        loop.close()


def test_a_pool_of_somebody_s_own_is_used_all_the_same() -> None:
    loop, submitted = Loop(), []

    class Pool(ThreadPoolExecutor):
        def submit(self, function: Any, /, *arguments: Any, **options: Any) -> Any:
            submitted.append(function)
            return super().submit(function, *arguments, **options)

    try:
        with Pool(1) as pool:
            assert loop.run_until_complete(loop.run_in_executor(pool, json.loads, "[1]")) == [1]
    finally:
        loop.close()

    assert submitted == [json.loads]
