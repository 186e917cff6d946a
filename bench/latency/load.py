"""The load: a steady stream of starts and ends of runs, some of which fail in a pipeline of their own."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from aiokafka import AIOKafkaProducer

from bench.jobs import end_of, start_of
from bench.latency.arrivals import Arrivals
from watchline.schemas import Event, encode

PIPELINES = 500
FAILING_EVERY = 25  # of the runs; each in a new pipeline, since one that has failed before opens no second incident
RUN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Shape:
    """Events a second (half starts, half ends), and how long the warm-up and the measured part last."""

    rate: int
    warmup: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Job:
    """One run to be sent: the start now, the end a second later."""

    number: int
    run_id: UUID
    pipeline: str
    fails: bool


def job_of(number: int) -> Job:
    """Run `number` of a round."""
    fails = number % FAILING_EVERY == 0
    return Job(number, uuid4(), f"failing_{number}" if fails else f"pipeline_{number % PIPELINES:04d}", fails)


async def send_load(
    producer: AIOKafkaProducer,
    topic: str,
    shape: Shape,
    rows: Arrivals[UUID],
    requests: Arrivals[str],
) -> float:
    """Send the load at its pace, whatever arrives; returns the events a second that were reached."""
    lag = int(shape.rate / 2 * RUN_SECONDS)
    runs = int(shape.rate / 2 * (shape.warmup + shape.seconds))
    jobs: dict[int, Job] = {}
    sent: list[asyncio.Future[object]] = []
    began = time.monotonic()
    for number in range(runs + lag):
        await asyncio.sleep(began + 2 * number / shape.rate - time.monotonic())
        if number < runs:
            jobs[number] = job = job_of(number)
            sent.append(await send(producer, topic, start_of(job.pipeline, job.run_id, datetime.now(UTC))))
        if number >= lag:
            job = jobs.pop(number - lag)
            event = end_of(
                job.pipeline, job.run_id, datetime.now(UTC), job.number, "failed" if job.fails else "succeeded"
            )
            counts = time.monotonic() - began > shape.warmup
            rows.leave(job.run_id, counts=counts)
            if job.fails:
                requests.leave(job.pipeline, counts=counts)
            sent.append(await send(producer, topic, event))
    reached = 2 * runs / (time.monotonic() - began - RUN_SECONDS)
    await asyncio.gather(*sent)
    return reached


async def send(producer: AIOKafkaProducer, topic: str, event: Event) -> asyncio.Future[object]:
    future: asyncio.Future[object] = await producer.send(topic, encode(event), key=event.pipeline.encode())
    return future
