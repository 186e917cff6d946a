"""How a service starts and ends: the first check of its addresses, and the signals that stop it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

from watchline.cli.logs import configure_command_logs, configure_service_logs
from watchline.cli.reach import check_kafka, check_postgres
from watchline.schemas.connection import KafkaConnection
from watchline.schemas.failpoints import VARIABLE, read_failpoints


def begin(*, kafka: KafkaConnection | None = None, dsn: str | None = None) -> None:
    """Fail within seconds, naming the address, when Kafka or Postgres does not answer; then let logs flow."""
    configure_command_logs()
    read_failpoints(os.environ.get(VARIABLE))
    asyncio.run(_check(kafka, dsn))
    configure_service_logs()


async def _check(kafka: KafkaConnection | None, dsn: str | None) -> None:
    if kafka:
        await check_kafka(kafka)
    if dsn:
        await check_postgres(dsn)


def mark_ready() -> None:
    """Touch WATCHLINE_READY_FILE: the addresses answer and the service begins its work."""
    path = os.environ.get("WATCHLINE_READY_FILE")
    if path:
        Path(path).touch()


def run_until_stopped(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run `serve(stop)`; SIGTERM or SIGINT sets `stop`, and `serve` then has to return."""
    asyncio.run(_serve(serve))


async def _serve(serve: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await serve(stop)
