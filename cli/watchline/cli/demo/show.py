"""The demo itself: declare, replay, wait, compare, report, and one alert live."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
from aiokafka import AIOKafkaProducer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from watchline.cli.console import err, out
from watchline.cli.demo import findings, live
from watchline.cli.demo.arrival import Arrival
from watchline.cli.demo.history import CiRun
from watchline.cli.demo.replay import open_producer, send_events
from watchline.cli.demo.report import anomalies_table, pipelines_table, print_table
from watchline.cli.demo.translation import declarations, events
from watchline.cli.dev.stack import Stack
from watchline.cli.reach import postgres
from watchline.cli.settings import read_topics

STRONGEST = 10
ALERTED = """
    select count(*) from alert_outbox where pipeline = $1 and state <> 'pending' and created_at >= $2
"""


async def show(stack: Stack, history: Sequence[CiRun], *, kept: bool) -> None:
    """Run the demo on a started stack; WatchlineError when the totals in Postgres differ from the file."""
    pipelines = sorted({run.pipeline for run in history})
    async with postgres(stack.servers.dsn) as connection, open_producer(stack.servers.kafka) as producer:
        arrival = Arrival(connection, pipelines, stack.check)
        began = time.monotonic()
        await _replay(producer, arrival, history, pipelines)
        await arrival.until_caught_up(stack.servers.kafka, read_topics(), stack.servers.epoch)
        took = time.monotonic() - began
        await findings.verify_totals(connection, history, pipelines)
        err.print(f"All {len(history):,} runs are in Postgres, each once, with the totals of the file: {took:.0f} s")
        await _report(connection, pipelines)
        await _alert(producer, connection, stack)
    _suggest(stack, kept=kept)


async def _replay(
    producer: AIOKafkaProducer, arrival: Arrival, history: Sequence[CiRun], pipelines: Sequence[str]
) -> None:
    topics = read_topics()
    sending = [event for run in history for event in events(run)]
    columns = (TextColumn("{task.description:14}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as progress:
        sent = progress.add_task("events sent", total=len(sending))
        stored = progress.add_task("runs stored", total=len(history))
        await send_events(producer, topics, declarations(history), lambda _: None)
        await arrival.until(arrival.declared, len(pipelines), "pipelines declared")
        send = asyncio.create_task(send_events(producer, topics, sending, lambda count: progress.advance(sent, count)))
        try:
            await arrival.until(
                arrival.ended,
                len(history),
                "ended runs stored",
                progress=lambda count: progress.update(stored, completed=count),
            )
        finally:
            send.cancel() if not send.done() else send.result()


async def _report(connection: asyncpg.Connection[Any], pipelines: Sequence[str]) -> None:
    print_table(out, pipelines_table(await findings.read_pipelines(connection, pipelines)))
    print_table(out, anomalies_table(await findings.read_strongest(connection, pipelines, STRONGEST)))
    incidents, alerts = await findings.count_incidents(connection, pipelines)
    err.print(f"\n{incidents:,} incidents recorded, {alerts:,} alerts sent: causes older than 24 h are kept quiet")


async def _alert(producer: AIOKafkaProducer, connection: asyncpg.Connection[Any], stack: Stack) -> None:
    err.print("Now one run fails live, and the notifier says so:\n")
    now = datetime.now(UTC)
    arrival = Arrival(connection, [live.PIPELINE, live.STEP], stack.check)
    await send_events(producer, read_topics(), live.declarations(now), lambda _: None)
    await arrival.until(arrival.declared, 2, "pipelines declared")
    await send_events(producer, read_topics(), live.failing_run(now), lambda _: None)

    async def alerted() -> int:
        return min(1, int(await connection.fetchval(ALERTED, live.PIPELINE, now)))

    await arrival.until(alerted, 1, "alerts of the live run")


def _suggest(stack: Stack, *, kept: bool) -> None:
    if kept:
        err.print("\nTo see more:")
        out.print(stack.servers.psql, markup=False)
    else:
        err.print("\nTo see more, run it with --keep (make demo ARGS=--keep) and ask its database:")
    out.print("select * from reporting.anomalies order by abs(score) desc limit 20;", markup=False)
    out.print("select kind, status, count(*) from reporting.incidents group by 1, 2;", markup=False)
    out.print("select * from reporting.pipelines order by last_started_at desc;", markup=False)
